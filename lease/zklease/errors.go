package zklease

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/storekit"
)

// ErrClosed is matched by the error of calls of a store that was closed.
var ErrClosed = casstore.ErrClosed

var (
	errSessionEnded = errors.New("the session has ended")
	errGone         = errors.New("its nodes were removed")
	errBusy         = errors.New("others changed it at the same time, again and again")
	errForeign      = errors.New("is a node of another program")
	errFormat       = errors.New("has nodes of format")
	errLarge        = fmt.Errorf("a value has more than %d bytes", mostData)
)

// hints are what to change, by the error; permanent ones stay until somebody does.
var hints = []storekit.Hint{
	{errForeign, true, "name another path in the URL, or another namespace"},
	{errFormat, true, "start the newer release, or name another namespace"},
	{errLarge, true, "make payloads or what jobs report smaller: ZooKeeper takes 1 MiB at once"},
	{zk.ErrNoAuth, true, "give the user of the URL all rights to the node and those below it, or name the user that made them"},
	{zk.ErrInvalidACL, true, "check the user in the URL: the servers do not accept it as the owner of a node"},
	{zk.ErrAuthFailed, true, "check the user and the password in the URL"},
	{zk.ErrNoServer, false, unreachable},
	{zk.ErrConnectionClosed, false, unreachable},
	{zk.ErrClosing, false, unreachable}, // the connection has just broken
	{errNoSession, false, unreachable},
}

const unreachable = "check that the servers of ZooKeeper run, that a majority of them is connected, and the addresses in the URL; " +
	"a server that accepts no more connections of this machine has reached its maxClientCnxns"

func advice(err error) (hint string, permanent bool) {
	if hint, permanent = storekit.Advice(hints, err); hint != "" {
		return hint, permanent
	}
	if errors.As(err, new(net.Error)) { // the request could not be written
		return unreachable, false
	}
	return "", false
}

// at returns err with the path that it is about.
func (m *medium) at(path string, err error) error {
	if err == nil || errors.As(err, new(unanswered)) || errors.Is(err, ErrClosed) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

var errNoSession = errors.New("no answer from ZooKeeper")

// unanswered is why a request has no answer.
type unanswered struct {
	cause error
	addrs []string
}

func (u unanswered) Error() string {
	return fmt.Sprintf("%v at %s: %v", errNoSession, strings.Join(u.addrs, ","), u.cause)
}

func (u unanswered) Unwrap() error { return u.cause }

func (u unanswered) Is(target error) bool {
	return target == errNoSession || u.cause == context.DeadlineExceeded && target == context.DeadlineExceeded
}
