package election_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/solotick/solotick/election"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

func TestMain(m *testing.M) {
	redis.SetLogger(silence{}) // what it says about connections that the tests break
	// Closed or not, a pool that could not dial sleeps out its second before it looks again.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

var errDown = errors.New("the store is down")

// link is between a member and the store, and can break.
type link struct {
	*memlease.Store
	down atomic.Bool
}

func (l *link) ClaimLock(ctx context.Context, c protocol.LockClaim) (protocol.LockAnswer, error) {
	if l.down.Load() {
		return protocol.LockAnswer{}, errDown
	}
	return l.Store.ClaimLock(ctx, c)
}

func (l *link) RenewLocks(ctx context.Context, grants []protocol.LockGrant) []error {
	if l.down.Load() {
		errs := make([]error, len(grants))
		for i := range errs {
			errs[i] = errDown
		}
		return errs
	}
	return l.Store.RenewLocks(ctx, grants)
}

func (l *link) ReleaseLock(ctx context.Context, g protocol.LockGrant) error {
	if l.down.Load() {
		return errDown
	}
	return l.Store.ReleaseLock(ctx, g)
}

func (l *link) Lock(ctx context.Context, name string) (protocol.Lock, error) {
	if l.down.Load() {
		return protocol.Lock{}, errDown
	}
	return l.Store.Lock(ctx, name)
}

// member is one of those that take part.
type member struct {
	*election.Election
	link  *link
	locks *lock.Locks
}

func join(t *testing.T, store *memlease.Store, name string, opts ...lock.Option) *member {
	m := &member{link: &link{Store: store}}
	m.locks = lock.New(m.link, lock.WithHolder(name))
	t.Cleanup(m.locks.Close)
	m.Election = election.New(m.locks, "primary", opts...)
	return m
}

func bubble(t *testing.T, test func(t *testing.T, store *memlease.Store)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, new(memlease.Store)) })
}

func campaign(t *testing.T, m *member) *election.Leadership {
	t.Helper()
	l, err := m.Campaign(t.Context())
	require.NoError(t, err)
	return l
}

// campaigning campaigns in a goroutine of its own.
func campaigning(t *testing.T, m *member, elected chan<- *election.Leadership) {
	go func() {
		l, err := m.Campaign(t.Context())
		if err != nil {
			t.Error(err)
		}
		elected <- l
	}()
}
