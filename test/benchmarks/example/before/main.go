// Command before calls a partner at most a hundred times a minute, all replicas together: with
// redis_rate.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-redis/redis_rate/v10"
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

	partner := redis_rate.NewLimiter(client)
	for ctx.Err() == nil {
		result, err := partner.Allow(ctx, "partner", redis_rate.PerMinute(100))
		if err != nil {
			log.Print(err)
			continue
		}
		if result.Allowed == 0 {
			sleep(ctx, result.RetryAfter)
			continue
		}
		callPartner()
	}
}

func callPartner() { log.Print("called the partner") }

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
