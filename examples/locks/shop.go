package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/solotick/solotick/election"
	"github.com/solotick/solotick/lock"
)

const (
	tills    = 3 // of each replica
	atOnce   = 2 // calls of the partner, of all replicas together
	few      = 5 // then the leader fills the stock up
	delivery = 20
)

// shop is one replica.
type shop struct {
	name  string
	locks *lock.Locks
	stock stock
	out   io.Writer
}

// run sells until ctx ends. Then everything that is held is given back, so that the others need not wait for it to run out.
func (s *shop) run(ctx context.Context) error {
	var work sync.WaitGroup
	errs := make([]error, tills+1)
	for i := range tills {
		work.Go(func() { errs[i] = s.sell(ctx) })
	}
	work.Go(func() {
		errs[tills] = election.New(s.locks, "manager", lock.WithTTL(5*time.Second)).Lead(ctx, s.manage)
	})
	work.Wait()
	for i, err := range errs {
		if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
			errs[i] = nil // that is how it should end
		}
	}
	return errors.Join(errs...)
}

// sell serves one customer after the other.
func (s *shop) sell(ctx context.Context) error {
	for sleep(ctx, 500*time.Millisecond) {
		err := s.pay(ctx)
		var left, sold int
		if err == nil {
			left, sold, err = s.change(ctx, func(count int) int { return -min(count, 1) })
		}
		switch {
		case err == nil:
			fmt.Fprintln(s.out, s.name, "sold", -sold, "left", left)
		case ctx.Err() == nil:
			fmt.Fprintln(s.out, s.name, "sold nothing:", err)
		}
	}
	return context.Cause(ctx)
}

// pay calls the partner, who bears no more than so many calls at once.
func (s *shop) pay(ctx context.Context) error {
	hold, err := s.locks.Semaphore("partner", atOnce, lock.WithTTL(5*time.Second)).Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = hold.Release(ctx) }() // what fails here runs out by itself
	fmt.Fprintln(s.out, s.name, "pays")
	sleep(hold.Context(), 100*time.Millisecond) // the call; it ends when the permit is lost
	fmt.Fprintln(s.out, s.name, "paid")
	return nil
}

// change looks at the stock and changes it, while nobody else does.
func (s *shop) change(ctx context.Context, by func(count int) int) (left, changed int, err error) {
	hold, err := s.locks.Mutex("stock", lock.WithFairness(), lock.WithTTL(5*time.Second)).Acquire(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = hold.Release(ctx) }()
	left, err = s.stock.add(hold.Context(), hold.Token(), 0)
	if err != nil {
		return 0, 0, err
	}
	// A replica that is frozen here loses the mutex, thaws, and writes what it has made of an old count. The token stops it.
	changed = by(left)
	left, err = s.stock.add(hold.Context(), hold.Token(), changed)
	return left, changed, err
}

// manage fills the stock up while this replica leads.
func (s *shop) manage(ctx context.Context, ttl int64) error {
	fmt.Fprintln(s.out, s.name, "leads, in term", ttl)
	for sleep(ctx, 300*time.Millisecond) {
		// The stock compares tokens of its mutex. The term is another lock's, and says nothing there.
		_, _, err := s.change(ctx, func(count int) int {
			if count > few {
				return 0
			}
			return delivery
		})
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(s.out, s.name, "ordered nothing:", err)
		}
	}
	fmt.Fprintln(s.out, s.name, "leads no more")
	return context.Cause(ctx)
}

// sleep reports whether ctx has not ended meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
