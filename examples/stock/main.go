// Command stock sells 100 pieces to 1,000 buyers who come at once, to four replicas of a shop. It does so three times: without
// a lock, with a lock whose token nothing compares, and with a lock and a fence.
//
//	go run ./examples/stock    # needs a Redis, by default at localhost:6379
//
// A stock that is only a number needs neither: DECR does all of it in one step. The lock is for what cannot be one step, here a
// payment between looking at the stock and taking a piece.
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
	replicas = 4
	buyers   = 1000
	pieces   = 100
	key      = "stock-example:left"
	payment  = time.Millisecond
)

func main() {
	url := flag.String("redis", "redis://localhost:6379/0", "URL of the Redis with the stock and the locks")
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
	store, err := redislease.New(client, "stock-example")
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	fenced, err := redisfence.NewScript(`return redis.call('SET', KEYS[1], ARGV[1])`)
	if err != nil {
		return err
	}
	var locks []*lock.Locks // one for each replica
	for range replicas {
		locks = append(locks, lock.New(store))
		defer locks[len(locks)-1].Close()
	}
	for _, s := range []*shop{
		{name: "without a lock", client: client},
		{name: "with a lock, and a buyer who freezes", client: client, locks: locks},
		{name: "with a lock and a fence, and a buyer who freezes", client: client, locks: locks, fence: fenced},
	} {
		sold, err := s.sellAll(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %d of %d pieces sold\n", s.name, sold, pieces)
	}
	return nil
}

// shop is one way to sell.
type shop struct {
	name   string
	client *redis.Client
	locks  []*lock.Locks      // nil: without a lock
	fence  *redisfence.Script // nil: the token is not compared
	sold   atomic.Int64
}

// sellAll lets everybody buy at once, and returns how many pieces were sold.
func (s *shop) sellAll(ctx context.Context) (int64, error) {
	if err := s.client.Set(ctx, key, pieces, 0).Err(); err != nil {
		return 0, err
	}
	thaw := func() error { return nil }
	if s.locks != nil {
		var err error
		if thaw, err = s.freeze(ctx); err != nil {
			return 0, err
		}
	}
	errs := make([]error, buyers)
	var all sync.WaitGroup
	for i := range buyers {
		all.Go(func() { errs[i] = s.buy(ctx, i) })
	}
	all.Wait()
	err := errors.Join(errors.Join(errs...), thaw())
	return s.sold.Load(), err
}

// buy takes a piece, if there is one.
func (s *shop) buy(ctx context.Context, buyer int) error {
	if left, err := s.left(ctx); err != nil || left == 0 {
		return err // nobody has to queue for nothing
	}
	if s.locks == nil {
		left, err := s.left(ctx)
		if err != nil || left == 0 {
			return err
		}
		return s.take(ctx, 0, left)
	}
	hold, err := s.locks[buyer%replicas].Mutex("stock").Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = hold.Release(ctx) }() // what fails here runs out by itself
	left, err := s.left(hold.Context())      // again: it may have changed while this buyer waited
	if err != nil || left == 0 {
		return err
	}
	return s.take(hold.Context(), hold.Token(), left)
}

func (s *shop) left(ctx context.Context) (int, error) { return s.client.Get(ctx, key).Int() }

// take pays, and writes how many are left then.
func (s *shop) take(ctx context.Context, token int64, left int) (err error) {
	time.Sleep(payment)
	if s.fence == nil {
		err = s.client.Set(ctx, key, left-1, 0).Err()
	} else {
		err = s.fence.Run(ctx, s.client, token, []string{key}, left-1).Err()
	}
	if err == nil {
		s.sold.Add(1)
	}
	return err
}

// freeze is a buyer whose process freezes between looking and taking, until thaw. Its lock is over by then. To play that, it is
// released here, which is the same to everybody else as a lease that has run out.
func (s *shop) freeze(ctx context.Context) (thaw func() error, err error) {
	hold, err := s.locks[0].Mutex("stock").Acquire(ctx)
	if err != nil {
		return nil, err
	}
	left, err := s.left(ctx)
	return func() error {
		err := s.take(ctx, hold.Token(), left)
		if errors.Is(err, fence.ErrStale) {
			return nil // refused: the buyer gets the money back
		}
		return err
	}, errors.Join(err, hold.Release(ctx))
}
