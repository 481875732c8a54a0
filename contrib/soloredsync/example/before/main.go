// Command before hands out numbers of invoices on several replicas, one at a time: a mutex of
// redsync.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
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

	rs := redsync.New(goredis.NewPool(client))
	mutex := rs.NewMutex("numbers", redsync.WithExpiry(10*time.Second))
	for ctx.Err() == nil {
		if err := mutex.LockContext(ctx); err != nil {
			log.Print(err)
			continue
		}
		handOut(ctx)
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
