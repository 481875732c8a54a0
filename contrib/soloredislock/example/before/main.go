// Command before counts the stock on one replica at a time: a lock of redislock, which it renews by
// itself.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

const ttl = 10 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()

	locker := redislock.New(client)
	for ctx.Err() == nil {
		lock, err := locker.Obtain(ctx, "stock", ttl, &redislock.Options{RetryStrategy: redislock.LinearBackoff(time.Second)})
		if err != nil {
			log.Print(err)
			continue
		}
		count(ctx, lock)
		if err := lock.Release(context.WithoutCancel(ctx)); err != nil {
			log.Print(err)
		}
	}
}

// count counts until it is done or the lock is lost.
func count(ctx context.Context, lock *redislock.Lock) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(ttl / 3):
			}
			if err := lock.Refresh(ctx, ttl, nil); err != nil {
				log.Print(err)
				return
			}
		}
	}()
	countShelves(ctx)
}

func countShelves(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
		log.Print("counted the stock")
	}
}
