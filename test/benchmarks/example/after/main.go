// Command after is the program of ../before on package limit.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/limit"
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
	partner := limit.New(store).Bucket("partner", 100, time.Minute)
	for ctx.Err() == nil {
		if err := partner.Wait(ctx); err != nil {
			log.Print(err)
			continue
		}
		callPartner()
	}
}

func callPartner() { log.Print("called the partner") }
