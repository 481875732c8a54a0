package election_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/election"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

const ttl = 15 * time.Second

func TestMembersAreElectedInOrderOfCampaigns(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		const members = 5
		observer := join(t, store, "observer")
		_, err := observer.Leader(t.Context())
		require.ErrorIs(t, err, election.ErrNoLeader)
		elected := make(chan *election.Leadership)
		for i := range members {
			m := join(t, store, fmt.Sprintf("m%d", i))
			campaigning(t, m, elected)
			synctest.Wait()
			time.Sleep(time.Second)
		}
		var last int64
		for i := range members {
			l := <-elected
			since := time.Now()
			if i == 0 {
				since = since.Add(-members * time.Second)
			}
			require.Greater(t, l.Token(), last)
			last = l.Token()
			require.True(t, l.Valid())
			leader, err := observer.Leader(t.Context())
			require.NoError(t, err)
			require.Equal(t, fmt.Sprintf("m%d", i), leader.Member)
			require.Equal(t, l.Token(), leader.Token)
			require.True(t, since.Equal(leader.Since), leader.Since)
			require.Positive(t, leader.Remaining)
			time.Sleep(time.Minute)
			require.True(t, l.Valid())
			require.NoError(t, l.Resign(t.Context()))
			require.ErrorIs(t, context.Cause(l.Context()), lease.ErrReleased)
			require.NoError(t, l.Resign(t.Context()))
		}
		synctest.Wait()
		_, err = observer.Leader(t.Context())
		require.ErrorIs(t, err, election.ErrNoLeader)
	})
}

// A former leader that campaigns again at once comes after the members that campaign already.
func TestLeaderDoesNotSucceedItselfWhileOthersCampaign(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		a, b := join(t, store, "a"), join(t, store, "b")
		l := campaign(t, a)
		for range 10 {
			elected := make(chan *election.Leadership)
			campaigning(t, b, elected)
			synctest.Wait()
			require.NoError(t, l.Resign(t.Context()))
			again := make(chan *election.Leadership)
			campaigning(t, a, again)
			select {
			case second := <-elected:
				require.NoError(t, second.Resign(t.Context()))
				l = <-again
			case <-again:
				require.Fail(t, "it succeeds itself")
			}
		}
		require.NoError(t, l.Resign(t.Context()))
	})
}

// A leader that is cut off knows that it leads no more before the next is elected.
func TestCutOffLeaderStopsBeforeTheNextElection(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		a, b := join(t, store, "a"), join(t, store, "b")
		first := campaign(t, a)
		a.link.down.Store(true)
		began := time.Now()
		second := campaign(t, b)
		require.LessOrEqual(t, time.Since(began), ttl+25*time.Millisecond)
		require.ErrorIs(t, context.Cause(first.Context()), lease.ErrLost)
		require.False(t, first.Valid())
		require.Greater(t, second.Token(), first.Token())
		a.link.down.Store(false)
		require.ErrorIs(t, first.Resign(t.Context()), lease.ErrFenced)
		require.True(t, second.Valid())
		require.NoError(t, second.Resign(t.Context()))
	})
}

func TestACampaignThatIsGivenUpElectsNobody(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		a, b, c := join(t, store, "a"), join(t, store, "b"), join(t, store, "c")
		l := campaign(t, a)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := b.Campaign(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, `election: lock: gave up "primary" after 5s`)
		_, err = election.New(b.locks, "primary", lock.WithWaitTimeout(time.Second)).Campaign(t.Context())
		require.ErrorIs(t, err, lease.ErrHeld)
		require.NoError(t, l.Resign(t.Context()))
		began := time.Now()
		next := campaign(t, c)
		require.Zero(t, time.Since(began))
		require.NoError(t, next.Resign(t.Context()))
		_, err = election.New(a.locks, "/").Campaign(t.Context())
		require.ErrorContains(t, err, `name: "/"`)
	})
}

func TestNobodyLeadsForLongerThanMaxHold(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		a := join(t, store, "a", lock.WithMaxHold(time.Hour))
		l := campaign(t, a)
		began := time.Now()
		<-l.Context().Done()
		require.Equal(t, time.Hour, time.Since(began))
		require.NoError(t, l.Resign(t.Context()))
	})
}

// seen is the view of an observer: member and token, or why there are none.
type seen struct {
	member string
	token  int64
	err    error
}

// observe collects until ctx ends, and then sends all.
func observe(ctx context.Context, m *member) <-chan []seen {
	done := make(chan []seen, 1)
	go func() {
		var all []seen
		for l, err := range m.Observe(ctx) {
			all = append(all, seen{l.Member, l.Token, err})
		}
		done <- all
	}()
	return done
}

func TestObserversSeeLeadersInTheSameOrder(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		ctx, end := context.WithCancel(t.Context())
		var observers []<-chan []seen
		for i := range 3 {
			observers = append(observers, observe(ctx, join(t, store, fmt.Sprintf("o%d", i))))
		}
		synctest.Wait()
		members := []*member{join(t, store, "a"), join(t, store, "b")}
		var want []seen
		want = append(want, seen{err: election.ErrNoLeader})
		for i := range 10 {
			time.Sleep(rand.N(5 * time.Second))
			l := campaign(t, members[i%2])
			want = append(want, seen{member: []string{"a", "b"}[i%2], token: l.Token()})
			time.Sleep(time.Millisecond + rand.N(40*time.Second))
			require.NoError(t, l.Resign(t.Context()))
			want = append(want, seen{err: election.ErrNoLeader})
			time.Sleep(time.Millisecond)
		}
		l := campaign(t, members[0])
		want = append(want, seen{member: "a", token: l.Token()})
		time.Sleep(time.Minute)
		members[0].link.down.Store(true) // and runs out
		time.Sleep(time.Minute)
		want = append(want, seen{err: election.ErrNoLeader})
		_, err := members[1].Leader(t.Context())
		require.ErrorIs(t, err, election.ErrNoLeader)
		end()
		for _, o := range observers {
			require.Equal(t, want, <-o)
		}
	})
}

func TestAnObserverSeesThatTheStoreIsAway(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		ctx, end := context.WithCancel(t.Context())
		a, o := join(t, store, "a"), join(t, store, "o")
		l := campaign(t, a)
		all := observe(ctx, o)
		time.Sleep(time.Minute)
		o.link.down.Store(true)
		time.Sleep(time.Minute)
		_, err := o.Leader(t.Context())
		require.ErrorIs(t, err, errDown)
		o.link.down.Store(false)
		time.Sleep(time.Minute)
		end()
		require.Equal(t, []seen{{"a", l.Token(), nil}, {err: errDown}, {"a", l.Token(), nil}}, <-all)
		require.NoError(t, l.Resign(t.Context()))
	})
}

// Whatever becomes of members, at most one leads at a time, tokens rise, and somebody leads before
// long.
func TestOneLeadsAtATimeWhateverHappens(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		const members = 4
		ctx, end := context.WithCancel(t.Context())
		var (
			mu    sync.Mutex
			leads = map[string]bool{}
			last  int64
			terms int
		)
		var running sync.WaitGroup
		for i := range members {
			name := fmt.Sprintf("m%d", i)
			m := join(t, store, name)
			running.Go(func() {
				for ctx.Err() == nil {
					_ = m.Lead(ctx, func(ctx context.Context, token int64) error {
						mu.Lock()
						if len(leads) > 0 || token <= last {
							t.Errorf("%s leads with token %d after %d while %v do", name, token, last, leads)
						}
						leads[name], last, terms = true, token, terms+1
						mu.Unlock()
						select {
						case <-ctx.Done():
						case <-time.After(rand.N(40 * time.Second)):
						}
						mu.Lock()
						delete(leads, name)
						mu.Unlock()
						return nil
					})
				}
			})
			running.Go(func() { // it is cut off now and then
				for ctx.Err() == nil {
					m.link.down.Store(rand.IntN(3) == 0)
					select {
					case <-ctx.Done():
					case <-time.After(rand.N(time.Minute)):
					}
				}
				m.link.down.Store(false)
			})
		}
		for range 15 {
			time.Sleep(time.Minute)
			mu.Lock()
			before := terms
			mu.Unlock()
			time.Sleep(10 * time.Minute)
			mu.Lock()
			require.Greater(t, terms, before)
			mu.Unlock()
		}
		end()
		running.Wait()
	})
}

func TestLeadCampaignsAgainAfterALoss(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		a := join(t, store, "a")
		var tokens []int64
		err := a.Lead(t.Context(), func(ctx context.Context, token int64) error {
			tokens = append(tokens, token)
			if len(tokens) == 3 {
				return nil
			}
			synctest.Wait()
			_, err := a.locks.ForceRelease(ctx, "primary", token)
			require.NoError(t, err)
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), lease.ErrLost)
			return context.Cause(ctx)
		})
		require.NoError(t, err)
		require.Len(t, tokens, 3)
		require.IsIncreasing(t, tokens)
		_, err = a.Leader(t.Context())
		require.ErrorIs(t, err, election.ErrNoLeader)
	})
}

func TestLeadReturnsWhatEndedIt(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlease.Store) {
		a := join(t, store, "a")
		why, failed := errors.New("why"), errors.New("failed")
		require.ErrorIs(t, a.Lead(t.Context(), func(context.Context, int64) error { return failed }), failed)

		ctx, cancel := context.WithCancelCause(t.Context())
		err := a.Lead(ctx, func(ctx context.Context, _ int64) error {
			cancel(why)
			<-ctx.Done()
			return failed
		})
		require.ErrorIs(t, err, why)
		require.ErrorIs(t, err, failed)
		err = a.Lead(ctx, func(context.Context, int64) error { panic("not elected") })
		require.ErrorIs(t, err, why)
		err = election.New(a.locks, "/").Lead(t.Context(), func(context.Context, int64) error { panic("not elected") })
		require.ErrorContains(t, err, `name: "/"`)

		// A leader that panics leads no more.
		require.Panics(t, func() { _ = a.Lead(t.Context(), func(context.Context, int64) error { panic("oops") }) })
		_, err = a.Leader(t.Context())
		require.ErrorIs(t, err, election.ErrNoLeader)
	})
}

// refusing is a store that fails for good.
type refusing struct{ *memlease.Store }

var errRefused = protocol.Permanent(errors.New("NOPERM"))

func (refusing) ClaimLock(context.Context, protocol.LockClaim) (protocol.LockAnswer, error) {
	return protocol.LockAnswer{}, errRefused
}

func TestCampaignEndsWhenStoreFailsForGood(t *testing.T) {
	locks := lock.New(refusing{new(memlease.Store)})
	defer locks.Close()
	e := election.New(locks, "primary")
	_, err := e.Campaign(t.Context())
	require.ErrorIs(t, err, errRefused)
	err = e.Lead(t.Context(), func(context.Context, int64) error { return nil })
	require.ErrorIs(t, err, errRefused)
}
