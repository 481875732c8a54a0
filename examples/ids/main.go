// Command ids hands out numbers that are never given twice. Each of eight servers reserves 100 at a
// time and gives them out from memory, so that a number costs no call. It does so three times:
// without a lock, with a lock whose token nothing compares, and with a lock and a fence.
//
//	go run ./examples/ids    # needs a Redis, by default at localhost:6379
//
// Where the next number lies in Redis, INCRBY reserves a range in one step, without a lock. The
// lock is for a place that cannot do that, such as a partner's API or a file; Redis plays it here.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/fence/redisfence"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

const (
	servers = 8
	size    = 100
	ranges  = 20 // of each server
	key     = "ids-example:next"
)

func main() {
	url := flag.String("redis", "redis://localhost:6379/0", "URL of the Redis with the next number and the locks")
	flag.Parse()
	options, err := redis.ParseURL(*url)
	if err == nil {
		client := redis.NewClient(options)
		err = errors.Join(demo(context.Background(), client, os.Stdout), client.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
}

func demo(ctx context.Context, client *redis.Client, out io.Writer) error {
	store, err := redislease.New(client, "ids-example")
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	locks := lock.New(store)
	defer locks.Close()
	fenced, err := redisfence.NewScript(`return redis.call('SET', KEYS[1], ARGV[1])`)
	if err != nil {
		return err
	}
	for _, a := range []*allocator{
		{name: "without a lock", client: client},
		{name: "with a lock, and a server that freezes", client: client, mutex: locks.Mutex("ids")},
		{name: "with a lock and a fence, and a server that freezes", client: client, mutex: locks.Mutex("ids"), fence: fenced},
	} {
		if err := a.serve(ctx); err != nil {
			return err
		}
		twice := 0
		for _, times := range a.given {
			if times > 1 {
				twice++
			}
		}
		fmt.Fprintf(out, "%s: %d of %d numbers given twice\n", a.name, twice, len(a.given))
	}
	return nil
}

// allocator is one way to reserve ranges.
type allocator struct {
	name   string
	client *redis.Client
	mutex  lock.Lock          // nil: without a lock
	fence  *redisfence.Script // nil: the token is not compared

	mu    sync.Mutex
	given map[int]int // how often, by number
}

// serve has every server reserve its ranges and give them out.
func (a *allocator) serve(ctx context.Context) error {
	a.given = map[int]int{}
	if err := a.client.Set(ctx, key, 1, 0).Err(); err != nil {
		return err
	}
	errs := make([]error, servers)
	var all sync.WaitGroup
	for i := range servers {
		all.Go(func() {
			for round := range ranges {
				freezes := i == 0 && round == ranges/2
				errs[i] = errors.Join(errs[i], a.giveRange(ctx, freezes))
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// giveRange reserves a range and gives its numbers out, unless the fence has refused it.
func (a *allocator) giveRange(ctx context.Context, freezes bool) error {
	first, err := a.reserve(ctx, freezes)
	if errors.Is(err, fence.ErrStale) {
		return nil
	}
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := first; id < first+size; id++ {
		a.given[id]++
	}
	return nil
}

// reserve returns the first number of a range that nobody else has.
func (a *allocator) reserve(ctx context.Context, freezes bool) (first int, err error) {
	if a.mutex == nil {
		if first, err = a.client.Get(ctx, key).Int(); err != nil {
			return 0, err
		}
		return first, a.client.Set(ctx, key, first+size, 0).Err()
	}
	hold, err := a.mutex.Acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = hold.Release(ctx) }() // what fails here runs out by itself
	if first, err = a.client.Get(ctx, key).Int(); err != nil {
		return 0, err
	}
	if freezes {
		if err := a.sleepTooLong(ctx, hold); err != nil {
			return 0, err
		}
	}
	if a.fence == nil {
		return first, a.client.Set(ctx, key, first+size, 0).Err()
	}
	return first, a.fence.Run(ctx, a.client, hold.Token(), []string{key}, first+size).Err()
}

// sleepTooLong plays a process that freezes until its lease has run out and another server has
// reserved a range. Releasing the lock is the same to everybody else.
func (a *allocator) sleepTooLong(ctx context.Context, hold *lock.Hold) error {
	if err := hold.Release(ctx); err != nil {
		return err
	}
	return a.giveRange(ctx, false)
}
