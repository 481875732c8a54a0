package quorum_test

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/lease/quorum"
	"github.com/solotick/solotick/lease/redislease"
)

// A scheduler on three independent servers, of which one may be gone.
func ExampleNew() { //nolint:testableexamples // needs three of Redis
	var nodes []quorum.Node
	for _, addr := range []string{"a:6379", "b:6379", "c:6379"} {
		node, err := redislease.NewNode(redis.NewClient(&redis.Options{Addr: addr}), "billing")
		if err != nil {
			log.Fatal(err)
		}
		nodes = append(nodes, node)
	}
	store, err := quorum.New(nodes, "billing", quorum.WithTTL(15*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	s := solotick.On(store)                                                                     // and then as with any store
	_ = s.Func("report", "0 2 * * *", func(context.Context, solotick.Run) error { return nil }) // Run returns its error
	log.Print(errors.Join(s.Run(context.Background()), store.Close()))
}
