package lock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lock"
)

// A stock that two at a time must not count is protected twice: by the lock, and by its token.
func Example() {
	store := new(memlease.Store) // redislease.New in production
	locks := lock.New(store, lock.WithHolder("shop-1"))
	defer locks.Close()

	var fence fence.Memory // fence/sqlfence, fence/redisfence or fence/httpfence in production
	stock := 10
	sell := func(ctx context.Context) error {
		hold, err := locks.Mutex("stock", lock.WithFairness()).Acquire(ctx) // waits in the queue
		if err != nil {
			return err
		}
		defer func() { _ = hold.Release(ctx) }()
		return fence.Do(hold.Context(), "stock", hold.Token(), func() error {
			stock--
			return nil
		})
	}

	var buyers sync.WaitGroup
	for range 7 {
		buyers.Go(func() {
			if err := sell(context.Background()); err != nil {
				fmt.Println(err)
			}
		})
	}
	buyers.Wait()
	fmt.Println("left:", stock)
	// Output: left: 3
}

// TryAcquire asks once, and names the holder of the lock.
func ExampleMutex_TryAcquire() {
	ctx, store := context.Background(), new(memlease.Store)
	one, two := lock.New(store, lock.WithHolder("one")), lock.New(store, lock.WithHolder("two"))
	defer one.Close()
	defer two.Close()

	hold, err := one.Mutex("import").TryAcquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = two.Mutex("import").TryAcquire(ctx)
	if held, ok := errors.AsType[*lease.HeldError](err); ok {
		fmt.Println(held.Name, "is held by", held.Holder)
	}
	fmt.Println(hold.Release(ctx))
	_, err = two.Mutex("import").TryAcquire(ctx)
	fmt.Println(err)
	// Output:
	// import is held by one
	// <nil>
	// <nil>
}

// A wait timeout limits the wait and not the work that follows.
func ExampleWithWaitTimeout() {
	ctx, locks := context.Background(), lock.New(new(memlease.Store))
	defer locks.Close()

	busy, err := locks.Mutex("printer").Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = busy.Release(ctx) }()
	_, err = locks.Mutex("printer", lock.WithWaitTimeout(20*time.Millisecond)).Acquire(ctx)
	fmt.Println(errors.Is(err, lease.ErrHeld))
	// Output: true
}

// The context of a hold ends when the lock is lost, and its cause says why.
func ExampleWithMaxHold() {
	ctx, locks := context.Background(), lock.New(new(memlease.Store))
	defer locks.Close()

	hold, err := locks.Mutex("import", lock.WithMaxHold(20*time.Millisecond)).Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = hold.Release(ctx) }()
	<-hold.Context().Done()
	lost, _ := errors.AsType[*lease.LostError](context.Cause(hold.Context()))
	fmt.Println(lost.Reason, hold.Valid())
	// Output: max_hold false
}

// The holder acquires the lock again with the context of the hold: the same lease, the same token.
func ExampleLocks_Reentrant() {
	ctx, locks := context.Background(), lock.New(new(memlease.Store))
	defer locks.Close()
	account := locks.Reentrant("account-7")

	outer, err := account.Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	inner, err := account.Acquire(outer.Context()) // perhaps in a function that locks for itself
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("same token:", inner.Token() == outer.Token())

	_, err = account.TryAcquire(ctx) // with another context one is another
	fmt.Println("held:", errors.Is(err, lease.ErrHeld))

	fmt.Println(inner.Release(ctx), outer.Valid())
	fmt.Println(outer.Release(ctx), outer.Valid())
	// Output:
	// same token: true
	// held: true
	// <nil> true
	// <nil> false
}

// Readers hold the lock together, a writer alone.
func ExampleLocks_ReadWrite() {
	ctx, locks := context.Background(), lock.New(new(memlease.Store))
	defer locks.Close()
	catalogue := locks.ReadWrite("catalogue")

	one, _ := catalogue.Reader().Acquire(ctx)
	two, _ := catalogue.Reader().Acquire(ctx)
	_, err := catalogue.Writer().TryAcquire(ctx)
	fmt.Println("a writer, beside two readers:", errors.Is(err, lease.ErrHeld))

	_ = one.Release(ctx)
	_ = two.Release(ctx)
	writer, err := catalogue.Writer().Acquire(ctx)
	fmt.Println("a writer, alone:", err)
	_ = writer.Release(ctx)
	// Output:
	// a writer, beside two readers: true
	// a writer, alone: <nil>
}

// Of twenty calls, wherever they are made, at most three go on at once.
func ExampleLocks_Semaphore() {
	ctx, locks := context.Background(), lock.New(new(memlease.Store))
	defer locks.Close()
	calls := locks.Semaphore("partner-api", 3)

	var now, most, done atomic.Int64
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			hold, err := calls.Acquire(ctx)
			if err != nil {
				return
			}
			defer func() { _ = hold.Release(ctx) }()
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Millisecond)
			now.Add(-1)
			done.Add(1)
		})
	}
	callers.Wait()
	fmt.Println(done.Load(), "calls; more than 3 at once:", most.Load() > 3)

	_, err := calls.Take(4).TryAcquire(ctx)
	fmt.Println("4 of 3 permits can be had:", err == nil)
	// Output:
	// 20 calls; more than 3 at once: false
	// 4 of 3 permits can be had: false
}

// Two transfers in opposite directions take the same locks in another order, and none waits for the other for ever.
func ExampleLocks_Multi() {
	ctx, locks := context.Background(), lock.New(new(memlease.Store))
	defer locks.Close()

	balance := map[string]int{"a": 100, "b": 100}
	transfer := func(from, to string, sum int) {
		hold, err := locks.Multi(locks.Mutex("account."+from), locks.Mutex("account."+to)).Acquire(ctx)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer func() { _ = hold.Release(ctx) }()
		balance[from] -= sum
		balance[to] += sum
	}
	var transfers sync.WaitGroup
	for range 10 {
		transfers.Go(func() { transfer("a", "b", 7) })
		transfers.Go(func() { transfer("b", "a", 5) })
	}
	transfers.Wait()
	fmt.Println(balance["a"], balance["b"])
	// Output: 80 120
}

// A key of any length and alphabet has one of a hundred locks.
func ExampleLocks_Striped() {
	ctx, locks := context.Background(), lock.New(new(memlease.Store))
	defer locks.Close()
	users := locks.Striped("user", 100)

	hold, err := users.For("müller@example.org").Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(hold.Name())
	fmt.Println(hold.Release(ctx))
	// Output:
	// user.48
	// <nil>
}

// Who holds a lock can be seen, and be relieved of it.
func ExampleLocks_ForceRelease() {
	ctx, locks := context.Background(), lock.New(new(memlease.Store), lock.WithHolder("shop-1"))
	defer locks.Close()

	stuck, err := locks.Mutex("stock").Acquire(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = stuck.Release(ctx) }()

	seen, err := locks.Inspect(ctx, "stock")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(seen.Name, "is held by", seen.Holds[0].Holder)
	fmt.Println(locks.ForceRelease(ctx, "stock", seen.Holds[0].Token))

	next, err := locks.Mutex("stock").TryAcquire(ctx)
	fmt.Println("a higher token:", next.Token() > stuck.Token(), err)
	_ = next.Release(ctx)
	// Output:
	// stock is held by shop-1
	// true <nil>
	// a higher token: true <nil>
}

// An observer is notified of the events of this process's locks; metrics.NewLocks makes one for Prometheus.
func ExampleWithObserver() {
	ctx := context.Background()
	locks := lock.New(new(memlease.Store), lock.WithObserver(func(e lock.Event) {
		switch e := e.(type) {
		case lock.Granted:
			fmt.Println("granted", e.Name)
		case lock.Released:
			fmt.Println("released", e.Name)
		case lock.Lost:
			fmt.Println("lost", e.Name, e.Err.Reason)
		}
	}))
	defer locks.Close()

	if hold, err := locks.Mutex("stock").Acquire(ctx); err == nil {
		_ = hold.Release(ctx)
	}
	// Output:
	// granted stock
	// released stock
}
