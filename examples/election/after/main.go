// Command after is the program of ../before on package election.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/election"
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
	if err := election.New(locks, "consumer").Lead(ctx, consume); ctx.Err() == nil {
		log.Print(err)
	}
}

func consume(ctx context.Context, token int64) error {
	for ctx.Err() == nil {
		log.Print("consumed an order")
		sleep(ctx, time.Second)
	}
	return context.Cause(ctx)
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
