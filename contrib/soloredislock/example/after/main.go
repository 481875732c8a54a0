// Command after is the program of ../before on soloredislock, which renews the lock and ends its
// context when it is lost.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	redislock "github.com/solotick/solotick/contrib/soloredislock"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
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

	store, err := redislease.New(client, "billing")
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	locks := lock.New(store)
	defer locks.Close()
	locker := redislock.New(locks, redislock.WithKeepAlive())
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
	defer context.AfterFunc(lock.Context(), cancel)()
	countShelves(ctx)
}

func countShelves(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
		log.Print("counted the stock")
	}
}
