// Command after is the program of ../before on soloredsync: the work ends when the mutex is lost.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	redsync "github.com/solotick/solotick/contrib/soloredsync"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

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
	rs := redsync.New(locks)
	mutex := rs.NewMutex("numbers", redsync.WithExpiry(10*time.Second))
	for ctx.Err() == nil {
		if err := mutex.LockContext(ctx); err != nil {
			log.Print(err)
			continue
		}
		handOut(mutex.Context())
		if _, err := mutex.UnlockContext(context.WithoutCancel(ctx)); err != nil {
			log.Print(err)
		}
	}
}

func handOut(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
		log.Print("handed out a number")
	}
}
