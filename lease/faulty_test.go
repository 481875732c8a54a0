package lease_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = errors.New("the store is down")

// faulty is a store in memory between which and its caller something can go wrong. A nil fault is
// none.
type faulty struct {
	memlease.Store
	onClaim, onRenew, onSettle, onRelease, onCheckpoint fault

	checkpoints atomic.Int64 // calls of Checkpoint

	renewals atomic.Int64 // calls of Renew
	renewed  atomic.Int64 // leases in them
}

// fault stands between a caller and do, which makes the call. The caller gets its error.
type fault func(ctx context.Context, do func() error) error

func (f fault) call(ctx context.Context, do func() error) error {
	if f == nil {
		return do()
	}
	return f(ctx, do)
}

func (s *faulty) Claim(ctx context.Context, c protocol.Claim) (a protocol.Answer, err error) {
	err = s.onClaim.call(ctx, func() (err error) { a, err = s.Store.Claim(ctx, c); return err })
	return a, err
}

func (s *faulty) Renew(ctx context.Context, grants []protocol.Grant) []error {
	s.renewals.Add(1)
	s.renewed.Add(int64(len(grants)))
	var answers []error
	err := s.onRenew.call(ctx, func() error { answers = s.Store.Renew(context.WithoutCancel(ctx), grants); return nil })
	if err != nil {
		answers = make([]error, len(grants))
		for i := range answers {
			answers[i] = err
		}
	}
	return answers
}

func (s *faulty) Checkpoint(ctx context.Context, list []protocol.Checkpoint) []error {
	s.checkpoints.Add(1)
	var answers []error
	err := s.onCheckpoint.call(ctx, func() error { answers = s.Store.Checkpoint(context.WithoutCancel(ctx), list); return nil })
	if err != nil {
		answers = slices.Repeat([]error{err}, len(list))
	}
	return answers
}

func (s *faulty) Settle(ctx context.Context, g protocol.Grant, outcome lease.Outcome) error {
	return s.onSettle.call(ctx, func() error { return s.Store.Settle(ctx, g, outcome) })
}

func (s *faulty) Release(ctx context.Context, g protocol.Grant) error {
	return s.onRelease.call(ctx, func() error { return s.Store.Release(ctx, g) })
}

func fails(context.Context, func() error) error { return errDown }

func hangs(ctx context.Context, _ func() error) error { <-ctx.Done(); return ctx.Err() }

// losesTheReply makes the call, and says nothing until the caller has given up.
func losesTheReply(ctx context.Context, do func() error) error {
	_ = do()
	<-ctx.Done()
	return ctx.Err()
}

// answersAfter makes the call and answers that much later, whether or not the caller has given up.
func answersAfter(d time.Duration) fault {
	return func(_ context.Context, do func() error) error {
		err := do()
		time.Sleep(d)
		return err
	}
}

// first is f for n calls and no fault after them.
func first(n int64, f fault) fault { return firstThen(n, f, nil) }

// firstThen is f for n calls and g after them.
func firstThen(n int64, f, g fault) fault {
	var calls atomic.Int64
	return func(ctx context.Context, do func() error) error {
		if calls.Add(1) <= n {
			return f.call(ctx, do)
		}
		return g.call(ctx, do)
	}
}

// keeperGoroutines counts the goroutines that renewers have now.
func keeperGoroutines() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte("lease.(*Renewer).look("))
}

// newRenewer returns a renewer that is closed at the end of the test.
func newRenewer(t *testing.T, store lease.Store, observe ...func(lease.Renewal)) *lease.Renewer {
	k := lease.NewRenewer(store)
	for _, f := range observe {
		k.Observe(f)
	}
	t.Cleanup(k.Close)
	return k
}

func claim(name string) protocol.Claim {
	return protocol.Claim{Name: name, Holder: "a", TTL: 15 * time.Second}
}

func acquire(t *testing.T, k *lease.Renewer, c protocol.Claim) *lease.Lease {
	t.Helper()
	l, err := k.AcquireAs(t.Context(), c)
	require.NoError(t, err)
	return l
}

// byAnother returns c as another holder asks for it.
func byAnother(c protocol.Claim) protocol.Claim {
	c.Holder, c.Request = "b", protocol.NewRequest()
	return c
}

// requireLost demands that l was lost, for that reason.
func requireLost(t *testing.T, l *lease.Lease, reason string, last error) {
	t.Helper()
	require.Error(t, l.Context().Err(), "the lease is held")
	cause := context.Cause(l.Context())
	require.ErrorIs(t, cause, lease.ErrLost)
	lost, ok := errors.AsType[*lease.LostError](cause)
	require.True(t, ok)
	require.Equal(t, lease.LostError{
		Name: l.Name(), Tick: l.Tick(), Token: l.Token(), Reason: reason, LastErr: last,
	}, *lost)
	require.False(t, l.Valid())
}

// requireHeld demands that l is held.
func requireHeld(t *testing.T, l *lease.Lease) {
	t.Helper()
	require.NoError(t, context.Cause(l.Context()))
	require.True(t, l.Valid())
}

var ttls = []time.Duration{
	time.Millisecond, 7 * time.Millisecond, 50 * time.Millisecond, 333 * time.Millisecond, time.Second, 3 * time.Second,
	15 * time.Second, 20 * time.Second, time.Minute, time.Hour,
}

// forTerms tests with short, usual and long TTLs.
func forTerms(t *testing.T, test func(t *testing.T, ttl time.Duration)) {
	for _, ttl := range ttls {
		t.Run(fmt.Sprint(ttl), func(t *testing.T) { test(t, ttl) })
	}
}
