package etcdlease

import (
	"context"
	"crypto/tls"
	"errors"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/solotick/solotick/internal/storekit"
)

var errNoClock = errors.New("no member has said what time it is, at /version on its client URL")

// hints are what to change, by the error; permanent ones stay until somebody does.
var hints = []storekit.Hint{
	{rpctypes.ErrAuthFailed, true, "check the user and the password"},
	{rpctypes.ErrUserEmpty, true, "etcd wants a user and a password"},
	{rpctypes.ErrUserNotFound, true, "check the user and the password"},
	{rpctypes.ErrPermissionDenied, true, "grant the user's role readwrite on the keys below PREFIX/NAMESPACE/: etcdctl role grant-permission ROLE readwrite --prefix=true PREFIX/NAMESPACE/"},
	{rpctypes.ErrNoSpace, false, "make room: etcdctl compact, etcdctl defrag, etcdctl alarm disarm, or a greater --quota-backend-bytes"},
	{rpctypes.ErrCorrupt, false, "a member has found its data corrupt: see etcdctl alarm list"},
	{rpctypes.ErrRequestTooLarge, true, "let etcd take larger requests: --max-request-bytes"},
	{rpctypes.ErrNoLeader, false, "etcd has no leader: most of its members have to run and to reach each other"},
	{errNoClock, false, "check that etcd runs, its addresses, and that nothing between keeps HTTP from /version"},
	{context.DeadlineExceeded, false, bothTLS + ", and that most of its members reach each other"},
}

const bothTLS = "check that etcd runs, its addresses and the network, that both sides use TLS or neither (etcds:// or etcd://)"

func advice(err error) (hint string, permanent bool) {
	switch _, refused := errors.AsType[*tls.CertificateVerificationError](err); {
	case refused:
		return "check ca_file: it has to hold the authority of the members' certificates, and these the hosts of the URL", true
	case err != nil && strings.Contains(err.Error(), "remote error: tls"):
		return "check cert_file and key_file: etcd does not accept the certificate of this client, or its absence", true
	}
	if hint, permanent = storekit.Advice(hints, err); hint != "" {
		return hint, permanent
	}
	if status.Code(err) == codes.Unavailable {
		return bothTLS, false
	}
	return "", false
}
