package natslease

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/solotick/solotick/internal/protocol"
)

var (
	errTimeout      = errors.New("no answer in time")
	errDisconnected = errors.New("not connected")
	errUnfit        = errors.New("its settings do not fit")
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

// hints are what to change, by the error; permanent ones stay until somebody does.
var hints = []struct {
	err       error
	permanent bool
	hint      string
}{
	{nats.ErrConnectionClosed, true, "close the connection when everything that uses it has ended"},
	{nats.ErrAuthorization, true, "check the user and the password, or the credentials"},
	{nats.ErrAuthExpired, true, "renew the credentials"},
	{nats.ErrPermissionViolation, true, "let the user of NATS publish and subscribe as docs/stores.md says"},
	{nats.ErrMaxPayload, true, "raise max_payload of the servers"},
	{nats.ErrNoResponders, false, "enable JetStream on the servers and for the account; in a cluster, see that most of its servers run"},
	{errUnfit, true, "change the bucket, or remove it: a worker makes one that fits. NATS 2.11 or later is needed"},
}

// codes are what to change, by the error code of JetStream.
var codes = map[jetstream.ErrorCode]struct {
	permanent bool
	hint      string
}{
	noStream:    {true, "start a worker, which makes the bucket, or name another one"},
	jetstream.JSErrCodeJetStreamNotEnabled:           {true, "enable JetStream on the servers"},
	jetstream.JSErrCodeJetStreamNotEnabledForAccount: {true, "enable JetStream for the account"},
}

func advice(err error) (hint string, permanent bool) {
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return h.hint, h.permanent
		}
	}
	c := codes[code(err)]
	return c.hint, c.permanent
}

// failed returns err with the bucket that it is about.
func (m *medium) failed(err error) error {
	_, permanent := advice(err)
	err = fmt.Errorf("natslease: bucket %s: %w", m.bucket, err)
	if permanent {
		return protocol.Permanent(err)
	}
	return err
}

// notConnected says why there is no connection.
func notConnected(nc *nats.Conn) error {
	if nc.IsClosed() {
		return nats.ErrConnectionClosed
	}
	if err := nc.LastError(); err != nil {
		return fmt.Errorf("%w: %w", errDisconnected, err)
	}
	return errDisconnected
}

// denied returns the error by which the server has refused a message, or its answer; nil when it
// has not. It says so apart from the answer.
func (m *medium) denied(subject string) error {
	err := m.nc.LastError()
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return nil
	}
	text := err.Error()
	if strings.Contains(text, strconv.Quote(subject)) || strings.Contains(text, `Subscription to "`+inboxPrefix(m.nc)) {
		return err
	}
	return nil
}

func inboxPrefix(nc *nats.Conn) string { return cmp.Or(nc.Opts.InboxPrefix, "_INBOX") + "." }
