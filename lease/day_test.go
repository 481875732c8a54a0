package lease_test

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

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/steady"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
)

// unreliable is a store as one replica sees it: anything can go wrong at any time, and now and then
// everything does for minutes.
type unreliable struct {
	lease.Store
	mu   sync.Mutex
	rand *rand.Rand
	bad  time.Time // until when nothing works
}

// badly does do, or not, and lets the caller know, or not.
func (u *unreliable) badly(ctx context.Context, do func() error) error {
	u.mu.Lock()
	now := time.Now()
	if u.rand.IntN(500) == 0 {
		u.bad = now.Add(time.Duration(u.rand.Int64N(int64(4 * time.Minute))))
	}
	fate, wait := u.rand.IntN(20), time.Duration(u.rand.Int64N(int64(40*time.Second)))
	if now.Before(u.bad) {
		fate = u.rand.IntN(5)
	}
	u.mu.Unlock()
	switch fate {
	case 0, 1:
		return errDown
	case 2:
		return hangs(ctx, do)
	case 3:
		return losesTheReply(ctx, do)
	case 4: // late, and deaf to ctx; either the request is late, or the answer
		time.Sleep(wait / 2)
		err := do()
		time.Sleep(wait / 2)
		return err
	default:
		return do()
	}
}

func (u *unreliable) Claim(ctx context.Context, c protocol.Claim) (a protocol.Answer, err error) {
	err = u.badly(ctx, func() (err error) { a, err = u.Store.Claim(context.WithoutCancel(ctx), c); return err })
	return a, err
}

func (u *unreliable) Renew(ctx context.Context, grants []protocol.Grant) []error {
	answers := make([]error, len(grants))
	err := u.badly(ctx, func() error { copy(answers, u.Store.Renew(context.WithoutCancel(ctx), grants)); return nil })
	if err != nil {
		for i := range answers {
			answers[i] = err
		}
	}
	return answers
}

func (u *unreliable) Release(ctx context.Context, g protocol.Grant) error {
	return u.badly(ctx, func() error { return u.Store.Release(context.WithoutCancel(ctx), g) })
}

// register judges: a grant must not happen while an earlier lease of the name is good.
type register struct {
	memlease.Store
	t *testing.T

	mu     sync.Mutex
	leases map[string][]*lease.Lease
	tokens map[string]int64 // the newest that the store has granted
	grants int
}

// Claim looks at the very instant of the grant, whatever becomes of the answer.
func (r *register) Claim(ctx context.Context, c protocol.Claim) (protocol.Answer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, err := r.Store.Claim(ctx, c)
	if err == nil && a.Status == protocol.Granted && a.Token != r.tokens[c.Name] {
		require.Greater(r.t, a.Token, r.tokens[c.Name])
		r.tokens[c.Name] = a.Token
		r.grants++
		for _, l := range r.leases[c.Name] {
			require.False(r.t, l.Valid(), "token %d of %q is good when %d is granted", l.Token(), c.Name, a.Token)
			require.Error(r.t, l.Context().Err())
		}
	}
	return a, err
}

func (r *register) add(l *lease.Lease) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.Token() < r.tokens[l.Name()] {
		require.False(r.t, l.Valid(), "it was granted to another before the answer came")
		return
	}
	earlier := r.leases[l.Name()]
	r.leases[l.Name()] = append(earlier[max(0, len(earlier)-3):], l) // the last few: none shall come back to life
}

func TestADayOfFailuresNeverHasTwoHolders(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) {
		const names, replicas = 50, 3
		register := &register{t: t, leases: map[string][]*lease.Lease{}, tokens: map[string]int64{}}
		ctx, cancel := context.WithTimeout(t.Context(), day)
		defer cancel()
		var lost, released int
		var wg sync.WaitGroup
		for replica := range replicas {
			store := &unreliable{Store: register, rand: rand.New(rand.NewPCG(seed, uint64(replica)))}
			k := newRenewer(t, store)
			for name := range names {
				random := rand.New(rand.NewPCG(seed, uint64(replica*names+name+replicas)))
				wg.Go(func() {
					for ctx.Err() == nil {
						if wait(ctx, time.Duration(random.Int64N(int64(2*time.Minute)))) {
							return
						}
						c := protocol.Claim{
							Name: fmt.Sprintf("job-%d", name), Holder: fmt.Sprintf("replica-%d", replica), Request: protocol.NewRequest(),
							TTL: 30*time.Second + time.Duration(random.Int64N(int64(time.Minute))),
						}
						limited, cancel := context.WithTimeout(ctx, 5*time.Second)
						sent := steady.Now()
						a, err := store.Claim(limited, c)
						cancel()
						if err != nil || a.Status != protocol.Granted {
							continue
						}
						l := k.Keep(ctx, c, a, sent)
						register.add(l)
						over := wait(l.Context(), time.Duration(random.Int64N(int64(20*time.Minute))))
						register.mu.Lock()
						if over && errors.Is(context.Cause(l.Context()), lease.ErrLost) {
							lost++
						} else {
							released++
						}
						register.mu.Unlock()
						if random.IntN(4) > 0 {
							ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
							_ = l.Release(ctx)
							cancel()
						} else {
							l.Abandon()
						}
					}
				})
			}
			defer k.Close()
		}
		wg.Wait()
		t.Logf("%d grants, %d lost, %d given up", register.grants, lost, released)
		require.Greater(t, register.grants, 1000)
		require.Greater(t, lost, 100)
		require.Greater(t, released, 1000)
	})
}

// wait waits and reports whether ctx has ended.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return true
	case <-time.After(d):
		return false
	}
}
