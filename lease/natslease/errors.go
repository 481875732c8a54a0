package natslease

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/storekit"
)

var (
	errTimeout      = errors.New("no answer in time")
	errDisconnected = errors.New("not connected")
	errUnfit        = errors.New("its settings do not fit")
	errRoom         = errors.New("it is nearly full: the rest is kept for what is there already")
	errPending      = errors.New("other writes of the key were under way all the time")
	errGap          = errors.New("messages of a consumer were lost")
	errSilent       = errors.New("a consumer sends nothing, not even heartbeats: it is lost")
)

// Error codes of JetStream. Its client has no names for some.
const (
	noMessage     = jetstream.JSErrCodeMessageNotFound
	noStream      = jetstream.JSErrCodeStreamNotFound
	streamExists  = jetstream.JSErrCodeStreamNameInUse
	wrongRevision = jetstream.JSErrCodeStreamWrongLastSequence
	pendingWrite  = jetstream.JSErrCodeStreamWrongLastSequenceConstant
)

var hints = []storekit.Hint{
	{casstore.ErrClosed, true, "close the store when everything that uses it has ended"},
	{nats.ErrConnectionClosed, true, "close the connection when everything that uses it has ended"},
	{nats.ErrAuthorization, true, "check the user and the password, or the credentials"},
	{nats.ErrAuthExpired, true, "renew the credentials"},
	{nats.ErrSecureConnWanted, true, "name the servers with nats:// in place of tls://: they have no TLS"},
	{nats.ErrSecureConnRequired, true, "name the servers with tls:// in place of nats://: they want TLS"},
	{nats.ErrPermissionViolation, true, "let the user of NATS publish and subscribe as docs/stores.md says"},
	{nats.ErrMaxPayload, true, "raise max_payload of the servers: 1 MiB is enough"},
	{nats.ErrNoResponders, false, "enable JetStream on the servers; in a cluster, see that most of them run"},
	{errUnfit, true, "change the bucket, or remove it, and a worker makes one that fits; NATS 2.11 or later is needed"},
	{errDisconnected, false, "see that NATS runs, and check its address"},
	{errTimeout, false, "see that the servers of the bucket run, and that their disks have room; restart one whose disk was full"},
	{errRoom, false, "raise the greatest size of the bucket"},
	{errSilent, false, "see that the servers of the bucket run"},
}

// codes are hints by the error code of JetStream.
var codes = map[jetstream.ErrorCode]struct {
	permanent bool
	text      string
}{
	noStream:                               {true, "start a worker, which makes the bucket, or name another one"},
	jetstream.JSErrCodeJetStreamNotEnabled: {true, "enable JetStream on the servers"},
	jetstream.JSErrCodeJetStreamNotEnabledForAccount: {true, "enable JetStream for the account"},
	jetstream.JSErrCodeStreamMessageExceedsMaximum:   {true, "raise the greatest size of a value of the bucket: 1 MiB is enough"},
	10002: {false, "raise the account's limits of JetStream, or make room"},
	10005: {false, "see that as many servers run as the bucket is to have replicas"},
	10008: {false, "see that most of the servers of the cluster run"},
	10023: {false, "raise max_file_store of the servers, or make room on their disks"},
	10027: {true, "raise the account's greatest number of streams"},
	10047: {false, "raise max_file_store of the servers, or make room on their disks"},
	10074: {true, "name fewer replicas: the server is in no cluster"},
	10077: {false, "raise the greatest size of the bucket, or make room on the disks of the servers"},
}

// advice returns what to change when a call fails with err.
func advice(err error) (text string, permanent bool) {
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return "check ca in the URL: it has to hold the authority of the servers' certificates, and these the hosts of the URL", true
	}
	if text, permanent = storekit.Advice(hints, err); text != "" {
		return text, permanent
	}
	h := codes[code(err)]
	return h.text, h.permanent
}

// failed returns err with the bucket that it is about.
func (m *medium) failed(err error) error {
	return fmt.Errorf("bucket %s: %w", m.bucket, err)
}

// denied returns the error by which the server has refused a message, or its answer; nil when it
// has not. It says so apart from the answer.
func denied(nc *nats.Conn, subject string) error {
	err := nc.LastError()
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	text := err.Error()
	if strings.Contains(text, strconv.Quote(subject)) || strings.Contains(text, `Subscription to "`+inboxPrefix(nc)) {
		return err
	}
	return nil
}

func inboxPrefix(nc *nats.Conn) string { return cmp.Or(nc.Opts.InboxPrefix, "_INBOX") + "." }
