// Package casstore keeps leases in anything that compares a revision before it writes: etcd, NATS
// JetStream, ZooKeeper. Such a [Medium] has no clock that it could compare in the same step.
//
// # Leases end by elapsed time
//
// A value keeps the TTL of each lease and a nonce, which every grant and renewal draws again, and
// no end. A process takes a lease to have ended when it has itself seen the same nonce for the TTL
// and a little more, by its own clock, which never steps; and it takes it over by a change that
// names the revision. The holder counts from when it asked, which was before anybody could see the
// nonce. So no two clocks are compared, and a renewal that comes first is in the way of the
// takeover. Every process watches all values, so it sees a grant within milliseconds. One that has
// just started has seen nothing: it waits for a whole TTL.
//
// # Time
//
// The time of the servers is what the fleet runs its schedules on, what bounds are compared with,
// and what stamps are made of. It is compared by the client before it writes: a write that a
// network holds back for long may be made when NotAfter has passed. That was asked for by somebody
// who waits no longer; what it claims is taken over as if the holder had died.
//
// # Keys
//
//	item/KEY            an item: a line of JSON, the data, the newest entries of its list
//	older/KEY/OF/N      entries of the list that are older
//	message/N           a message for everybody, in one of a few places
//	since               since when the medium remembers
//
// What nobody needs any more is swept by every process, a page of keys at a time.
package casstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/lane"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/storekit"
	"github.com/solotick/solotick/lease/driver"
)

// ErrClosed is matched by the error of calls of a store that was closed.
var ErrClosed = lane.ErrClosed

// errTimeout is matched by context.DeadlineExceeded, and says so in other words.
var errTimeout error = timeout{}

type timeout struct{}

func (timeout) Error() string { return "no answer in time" }

func (timeout) Is(target error) bool { return target == context.DeadlineExceeded }

// Store is a lease.Store over a medium. It is safe for concurrent use.
type Store struct {
	*engine.Session
	values *values
}

// New makes a store of the namespace in a medium, which is that namespace's alone. The name of the
// package begins every error. The timeout bounds each call. advice says what to change when the
// medium fails with an error, and whether it would fail again until somebody does.
func New(name string, m Medium, namespace string, timeout time.Duration, advice func(err error) (hint string, permanent bool)) (*Store, error) {
	v := &values{name: name, medium: m, timeout: timeout, advice: advice}
	s, err := engine.NewSession(v, namespace, engine.Options{Hint: v.hint})
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	if err := errors.Join(storekit.CheckTimeout(name, timeout), err); err != nil {
		return nil, err
	}
	return &Store{s, v}, nil
}

// Values returns the store of values under the session.
func (s *Store) Values() driver.Store { return s.values }

// Close ends what goes on in the background. Calls fail with [ErrClosed] from then on.
func (s *Store) Close() error {
	s.values.close()
	return nil
}

// Exists reports whether anything has run in the namespace. It makes nothing.
func (s *Store) Exists(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.values.timeout, errTimeout)
	defer cancel()
	exists, err := s.values.medium.Exists(ctx, sinceKey)
	return exists, s.values.failed(ctx, err)
}

func (v *values) hint(err error) string {
	if errors.Is(err, ErrClosed) {
		return "close the store when everything that uses it has ended"
	}
	hint, _ := v.advice(err)
	return hint
}

// failed adds to err the package, and why ctx ended, if it did. The result matches
// [protocol.ErrPermanent] if a retry cannot succeed.
func (v *values) failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", v.name, protocol.Ended(context.Cause(ctx), err))
	if _, permanent := v.advice(err); permanent || errors.Is(err, ErrClosed) {
		return protocol.Permanent(err)
	}
	return err
}

// Publish implements [driver.Messenger].
func (v *values) Publish(ctx context.Context, text []byte) error {
	ctx, cancel, err := v.within(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	return v.failed(ctx, v.publish(ctx, message{Text: text}))
}

// Receive implements [driver.Messenger].
func (v *values) Receive(ctx context.Context, receive func(message []byte)) error {
	return v.listen(ctx, &listener{message: receive, missed: func() {}})
}
