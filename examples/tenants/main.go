// Command tenants has a job for each tenant. Tenants come and go while it runs, on every replica.
//
//	go run ./examples/tenants    # needs a Redis, by default at localhost:6379; start it several times
//	redis-cli SADD tenants-example:tenants acme umbrella
//	redis-cli SREM tenants-example:tenants acme
//
// The list is the truth, here a set in Redis, and each replica compares it with its jobs every second. So a replica that starts
// later, or was away, has the same jobs. What a job is called is all that ties the replicas' jobs together.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/lock"
)

func main() {
	url := flag.String("redis", "redis://localhost:6379/0", "URL of the Redis with the list of tenants, which the replicas share")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options, err := redis.ParseURL(*url)
	if err != nil {
		log.Fatal(err)
	}
	client := redis.NewClient(options)
	list := func(ctx context.Context) ([]string, error) {
		return client.SMembers(ctx, "tenants-example:tenants").Result()
	}
	b := &billing{scheduler: solotick.New(client, "tenants-example"), list: list, out: os.Stdout}
	log.Print("bills each tenant; to add one: redis-cli SADD tenants-example:tenants acme")
	if err := b.run(ctx); err != nil {
		log.Fatal(err)
	}
}

type billing struct {
	scheduler *solotick.Scheduler
	list      func(ctx context.Context) ([]string, error)
	out       io.Writer
	jobs      map[string]string // the job of each tenant that has one
}

// run bills until ctx ends and the last run has finished.
func (b *billing) run(ctx context.Context) error {
	b.jobs = map[string]string{}
	following := make(chan struct{})
	go func() {
		defer close(following)
		for ctx.Err() == nil {
			b.follow(ctx)
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
	}()
	err := b.scheduler.Run(ctx)
	<-following
	return err
}

// follow adds and removes jobs until there is one for each tenant. A list that cannot be read changes nothing.
func (b *billing) follow(ctx context.Context) {
	tenants, err := b.list(ctx)
	if err != nil {
		fmt.Fprintln(b.out, "tenants:", err)
		return
	}
	present := map[string]bool{}
	for _, tenant := range tenants {
		present[tenant] = true
		if b.jobs[tenant] != "" {
			continue
		}
		name := lock.Name("bill", tenant) // a valid name, whatever a tenant is called, and another for each
		if err := b.scheduler.Func(name, "@every 10s", b.bill(tenant)); err != nil {
			fmt.Fprintln(b.out, "tenants:", err)
			continue
		}
		b.jobs[tenant] = name
	}
	for tenant, name := range b.jobs {
		if !present[tenant] {
			b.scheduler.Remove(name) // a run that is under way goes on
			delete(b.jobs, tenant)
		}
	}
}

func (b *billing) bill(tenant string) solotick.Handler {
	return func(_ context.Context, run solotick.Run) error {
		_, err := fmt.Fprintf(b.out, "bill %s for %s\n", tenant, run.Tick.Format(time.TimeOnly))
		return err
	}
}
