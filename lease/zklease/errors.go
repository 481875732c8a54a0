package zklease

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/solotick/solotick/internal/casstore"
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
var hints = []struct {
	err       error
	permanent bool
	hint      string
}{
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
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return h.hint, h.permanent
		}
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

// named is a medium whose errors begin with the name of the package.
type named struct{ *medium }

func prefixed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("zklease: %w", err)
}

// Get implements [casstore.Medium].
func (n named) Get(ctx context.Context, keys []string) ([]casstore.Kept, error) {
	list, err := n.medium.Get(ctx, keys)
	return list, prefixed(err)
}

// Put implements [casstore.Medium].
func (n named) Put(ctx context.Context, key string, data []byte, from uint64) (present casstore.Kept, ok bool, err error) {
	present, ok, err = n.medium.Put(ctx, key, data, from)
	return present, ok, prefixed(err)
}

// Keys implements [casstore.Medium].
func (n named) Keys(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error) {
	keys, next, err = n.medium.Keys(ctx, prefix, cursor, count)
	return keys, next, prefixed(err)
}

// Exists implements [casstore.Medium].
func (n named) Exists(ctx context.Context, key string) (bool, error) {
	exists, err := n.medium.Exists(ctx, key)
	return exists, prefixed(err)
}

// Watch implements [casstore.Medium].
func (n named) Watch(ctx context.Context, changed func(key string, kept casstore.Kept), missed func()) error {
	return prefixed(n.medium.Watch(ctx, changed, missed))
}

// Clock implements [casstore.Medium].
func (n named) Clock(ctx context.Context) (time.Time, error) {
	now, err := n.medium.Clock(ctx)
	return now, prefixed(err)
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
