package redislease_test

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
)

// One of all processes that share the Redis writes the report of the day.
func ExampleNew() { //nolint:testableexamples // needs a Redis
	ctx := context.Background()
	store, err := redislease.New(redis.NewClient(&redis.Options{Addr: "localhost:6379"}), "billing")
	if err != nil {
		log.Fatal(err)
	}
	held, err := lease.Acquire(ctx, store, lease.Claim{Name: "report", Tick: 20261122, Holder: "r1", TTL: 30 * time.Second})
	switch {
	case errors.Is(err, lease.ErrHeld), errors.Is(err, lease.ErrDecided):
		log.Print("another process does, or has done it")
	case err != nil:
		log.Print(err)
	default:
		log.Print("mine, under token ", held.Token()) // the work, under held.Context()
		err = held.Settle(ctx, "succeeded")
	}
	log.Print(errors.Join(err, store.Close()))
}
