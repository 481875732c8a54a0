package redisstream_test

import (
	"context"
	"log"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/jobs/redisstream"
)

// A job that adds an entry to the stream reports at each tick, once. Consumers of the stream do the
// work.
func ExampleNew() { //nolint:testableexamples // needs a Redis
	client := redis.NewClient(&redis.Options{Addr: "localhost:6379", ContextTimeoutEnabled: true})
	handler, err := redisstream.New(client, redisstream.Stream{Name: "reports", MaxLen: 10_000, Fields: map[string]string{"kind": "nightly"}})
	if err != nil {
		log.Fatal(err)
	}
	s := solotick.New(client, "billing")
	_ = s.Func("report", "0 2 * * *", handler) // Run returns its error
	log.Print(s.Run(context.Background()))
}
