// Command before consumes on one replica at a time: a leader with SET NX.
package main

import (
	"context"
	"crypto/rand"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	extend  = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0`)
	release = redis.NewScript(`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0`)
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

	id := rand.Text()
	for ctx.Err() == nil {
		if elected, err := client.SetNX(ctx, "consumer", id, 10*time.Second).Result(); err != nil || !elected {
			sleep(ctx, time.Second)
			continue
		}
		leading, resign := context.WithCancel(ctx)
		go func() {
			defer resign()
			for leading.Err() == nil {
				sleep(leading, 3*time.Second)
				if n, err := extend.Run(leading, client, []string{"consumer"}, id, 10_000).Int(); err != nil || n == 0 {
					return
				}
			}
		}()
		consume(leading)
		resign()
		release.Run(context.WithoutCancel(ctx), client, []string{"consumer"}, id)
	}
}

func consume(ctx context.Context) {
	for ctx.Err() == nil {
		log.Print("consumed an order")
		sleep(ctx, time.Second)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
