// Command cache fills a cache once when 200 requests miss it at the same time, and keeps an old value from replacing a newer one.
// It does so three times: without a lock, with a lock whose token nothing compares, and with a lock and a fence.
//
//	go run ./examples/cache    # needs a Redis, by default at localhost:6379
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
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/fence/redisfence"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

const (
	requests = 200
	key      = "cache-example:prices"
	fresh    = time.Minute
	slow     = 50 * time.Millisecond // what asking the source takes
)

func main() {
	url := flag.String("redis", "redis://localhost:6379/0", "URL of the Redis with the cache and the locks")
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
	store, err := redislease.New(client, "cache-example")
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	locks := lock.New(store)
	defer locks.Close()
	fenced, err := redisfence.NewScript(`return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])`)
	if err != nil {
		return err
	}
	for _, c := range []*cache{
		{name: "without a lock", client: client},
		{name: "with a lock, and a server that freezes", client: client, mutex: locks.Mutex("prices")},
		{name: "with a lock and a fence, and a server that freezes", client: client, mutex: locks.Mutex("prices"), fence: fenced},
	} {
		asked, value, err := c.stampede(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %d requests asked the source %d times, then the cache has version %d of %d\n",
			c.name, requests, asked, value, c.version.Load())
	}
	return nil
}

// cache is one way to fill a cache.
type cache struct {
	name    string
	client  *redis.Client
	mutex   lock.Lock          // nil: without a lock
	fence   *redisfence.Script // nil: the token is not compared
	version atomic.Int64       // of what the source has
	asked   atomic.Int64       // how often it was
}

// source is slow, and does not like to be asked by everybody.
func (c *cache) source() int64 {
	c.asked.Add(1)
	version := c.version.Load()
	time.Sleep(slow)
	return version
}

// get returns the cached value, and fills the cache when there is none.
func (c *cache) get(ctx context.Context) (int64, error) {
	if value, err := c.client.Get(ctx, key).Int64(); !errors.Is(err, redis.Nil) {
		return value, err
	}
	if c.mutex == nil {
		value := c.source()
		return value, c.put(ctx, 0, value)
	}
	hold, err := c.mutex.Acquire(ctx)
	if err != nil {
		return 0, err // or: serve an older value
	}
	defer func() { _ = hold.Release(ctx) }() // what fails here runs out by itself
	if value, err := c.client.Get(ctx, key).Int64(); !errors.Is(err, redis.Nil) {
		return value, err // another has filled it while this request waited
	}
	value := c.source()
	return value, c.put(hold.Context(), hold.Token(), value)
}

func (c *cache) put(ctx context.Context, token, value int64) error {
	if c.fence == nil {
		return c.client.Set(ctx, key, value, fresh).Err()
	}
	return c.fence.Run(ctx, c.client, token, []string{key}, value, fresh.Milliseconds()).Err()
}

// stampede has a server ask the source and freeze before it writes to the cache. Then the source changes, and everybody asks the
// cache at once. Last, the server thaws, and writes what it had read.
func (c *cache) stampede(ctx context.Context) (asked, value int64, err error) {
	c.version.Store(1)
	if err := c.client.Del(ctx, key).Err(); err != nil {
		return 0, 0, err
	}
	thaw := func() error { return nil }
	if c.mutex != nil {
		if thaw, err = c.freeze(ctx); err != nil {
			return 0, 0, err
		}
	}
	c.version.Store(2)
	c.asked.Store(0)
	errs := make([]error, requests)
	var all sync.WaitGroup
	for i := range requests {
		all.Go(func() { _, errs[i] = c.get(ctx) })
	}
	all.Wait()
	if err := errors.Join(errors.Join(errs...), thaw()); err != nil {
		return 0, 0, err
	}
	value, err = c.client.Get(ctx, key).Int64()
	return c.asked.Load(), value, err
}

// freeze is a server that freezes after it has asked the source, until thaw. Its lock is over by then: releasing it here is the
// same to everybody else as a lease that has run out.
func (c *cache) freeze(ctx context.Context) (thaw func() error, err error) {
	hold, err := c.mutex.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	old := c.source()
	return func() error {
		if err := c.put(ctx, hold.Token(), old); !errors.Is(err, fence.ErrStale) {
			return err
		}
		return nil // refused: the cache has a newer value
	}, hold.Release(ctx)
}
