package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/quorum"
)

const lockTerm = 2 * time.Second

// Clients of different stores contend for a lock while requests and replies are lost, come late and
// twice, nodes' clocks are apart and run nearly a hundredth too fast, and nodes forget everything,
// one at a time.
func TestHistoriesAreThoseOfALock(t *testing.T) {
	seeds := []uint64{}
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		seeds = append(seeds, seed)
	} else {
		for range 3 {
			seeds = append(seeds, rand.Uint64N(1_000_000))
		}
	}
	for limit, kind := range map[int]string{1: "mutex", 3: "semaphore"} {
		t.Run(kind, func(t *testing.T) {
			answers := map[string]int{}
			for _, seed := range seeds {
				h := &lockHistory{history: &history{rand: rand.New(rand.NewPCG(seed, 2))}, limit: limit, answers: answers}
				synctest.Test(t, h.play)
				result := porcupine.CheckOperationsTimeout(aLock(limit), h.operations, time.Minute)
				if result != porcupine.Ok {
					for _, op := range h.operations {
						t.Logf("%d to %d: %+v", op.Call, op.Return, op.Input)
					}
				}
				require.Equal(t, porcupine.Ok, result, "repeat with %s=%d", seedVariable, seed)
			}
			t.Logf("answers: %v", answers)
			if len(seeds) > 1 { // otherwise the histories prove little
				for _, what := range []string{"granted", "held", "queued", "unknown", "released", "ran out", "renewed"} {
					require.Positive(t, answers[what], "no client was answered %q", what)
				}
			}
		})
	}
}

// lockHistory has when clients held a lock, as they know it.
type lockHistory struct {
	*history

	limit   int
	answers map[string]int
}

func (h *lockHistory) play(t *testing.T) {
	list := newFakeNodes(3 + 2*h.intN(2))
	for _, n := range list {
		n.fault = h.mishap
		n.offset = time.Duration(h.intN(2_000)-1_000) * time.Millisecond
		n.rate = 1.009
	}
	var stores []*quorum.Store
	for range 3 {
		stores = append(stores, openFake(t, list, quorum.WithTTL(lockTerm), quorum.WithTimeout(400*time.Millisecond)))
	}
	for _, s := range stores {
		require.Eventually(t, func() bool {
			_, _, err := s.Time(context.Background())
			return err == nil
		}, time.Minute, time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var clients, faults sync.WaitGroup
	stop := make(chan struct{})
	faults.Go(func() { h.forget(stop, list) })
	for id := range 4 {
		clients.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				h.contend(t, stores[id%len(stores)], fmt.Sprintf("h%d-%d", id, n))
			}
		})
	}
	clients.Wait()
	close(stop)
	faults.Wait()
}

// mishap draws what happens to one call of a node. Most calls are quick, so that the next claim
// comes right after a lease.
func (h *lockHistory) mishap() fault {
	if h.chance(15) {
		return h.fault()
	}
	return fault{before: time.Duration(1+h.intN(500)) * time.Microsecond, after: time.Duration(1+h.intN(500)) * time.Microsecond}
}

// contend asks for the lock until it is granted, holds it for a while, and gives it back or lets it
// run out.
func (h *lockHistory) contend(t *testing.T, s *quorum.Store, holder string) {
	c := lockOf("l", holder, 1+h.intN(h.limit), h.limit, lockTerm)
	if h.chance(60) {
		c.Order, c.WaiterTTL = protocol.Order(h.intN(3)), 300*time.Millisecond
	}
	called := h.clock.Add(1)
	for range 40 {
		sent := time.Now()
		a, err := s.ClaimLock(context.Background(), c)
		switch {
		case err != nil:
			h.notify("unknown")
		case a.Status == protocol.Granted:
			g := c.Grant(a)
			h.notify("granted")
			h.add(nextOf{n: c.Permits, token: a.Token}, called)
			if a.Remaining < g.TTL { // found by a repeated claim: what remains is by the store's clock, and package lease has a margin for that
				a.Remaining -= g.TTL/100 + 2*time.Millisecond
			}
			h.hold(t, s, g, sent.Add(a.Remaining))
			return
		default:
			h.notify(a.Status.String())
			time.Sleep(min(a.Remaining, time.Duration(h.intN(150))*time.Millisecond))
		}
	}
	g := c.Grant(protocol.LockAnswer{})
	for range 3 { // it may have been granted
		if s.ReleaseLock(context.Background(), g) == nil {
			break
		}
	}
}

// hold holds a grant until it is given back, or its deadline.
func (h *lockHistory) hold(t *testing.T, s *quorum.Store, g protocol.LockGrant, deadline time.Time) {
	end := nextOf{ends: true, n: g.Permits, token: g.Token}
	held := h.clock.Add(1) // when it was surely held last
	valid := func() bool {
		if time.Now().Before(deadline) {
			held = h.clock.Add(1)
			return true
		}
		return false
	}
	for h.chance(60) {
		time.Sleep(min(lockTerm/4, time.Until(deadline)))
		sent := time.Now()
		if !valid() {
			break
		}
		err := s.RenewLocks(context.Background(), []protocol.LockGrant{g})[0]
		switch {
		case err == nil:
			deadline = sent.Add(g.TTL)
			h.notify("renewed")
		case errors.Is(err, protocol.ErrFenced):
			if time.Now().Before(deadline) {
				t.Errorf("%s was fenced %s before its deadline", g.Holder, time.Until(deadline))
			}
			h.add(end, held)
			return
		}
	}
	if h.chance(50) { // until the last moment
		time.Sleep(time.Until(deadline) - time.Nanosecond)
		valid()
		h.notify("ran out")
		h.add(end, held)
		return
	}
	if valid() {
		for range 3 {
			if s.ReleaseLock(context.Background(), g) == nil {
				h.notify("released")
				break
			}
		}
	}
	h.add(end, held)
}

func (h *lockHistory) notify(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers[what]++
}

func (h *lockHistory) add(in nextOf, called int64) {
	returned := h.clock.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, porcupine.Operation{Input: in, Call: called, Return: returned})
}
