// Command leader adds up the orders of a Redis stream, one after another, on one replica of several at a time: a leader task. When
// that one stops or dies, another goes on at the order after the last one that was added.
//
//	go run ./examples/leader    # needs a Redis, by default at localhost:6379; start it several times, and kill the one that adds
//	redis-cli XADD leader-example:orders '*' amount 5
package main

import (
	"context"
	"errors"
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
	"github.com/solotick/solotick/fence/redisfence"
	"github.com/solotick/solotick/jobs"
)

const (
	orders = "leader-example:orders"
	sums   = "leader-example:sums" // a hash with the total, and the position of the order that was added last
)

// add writes both in one step, under the newest token only. It does so once for a position: a script whose answer is lost is sent
// again.
const add = `
if redis.call('HGET', KEYS[1], 'position') ~= ARGV[2] then
	redis.call('HINCRBY', KEYS[1], 'total', ARGV[1])
	redis.call('HSET', KEYS[1], 'position', ARGV[2])
end
return tonumber(redis.call('HGET', KEYS[1], 'total'))`

func main() {
	url := flag.String("redis", "redis://localhost:6379/0", "URL of the Redis with the orders, which the replicas share")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options, err := redis.ParseURL(*url)
	if err == nil {
		client := redis.NewClient(options)
		log.Printf("adds up orders while it leads; to place one: redis-cli XADD %s '*' amount 5", orders)
		err = errors.Join(run(ctx, client, os.Stdout), client.Close())
	}
	if err != nil {
		log.Fatal(err)
	}
}

// run contends for the leadership until ctx ends.
func run(ctx context.Context, client *redis.Client, out io.Writer) error {
	script, err := redisfence.NewScript(add)
	if err != nil {
		return err
	}
	c := &consumer{client: client, add: script, out: out}
	s := solotick.New(client, "leader-example")
	_ = s.Func("consumer", "", c.consume, jobs.WithLeader()) // Run returns its error
	return s.Run(ctx)
}

type consumer struct {
	client *redis.Client
	add    *redisfence.Script
	out    io.Writer
}

// consume runs while this replica leads. It is called again after an error.
func (c *consumer) consume(ctx context.Context, run solotick.Run) error {
	position, err := c.client.HGet(ctx, sums, "position").Result()
	if errors.Is(err, redis.Nil) {
		position, err = "0", nil
	}
	fmt.Fprintln(c.out, "leads from", position)
	for err == nil {
		position, err = c.next(ctx, position, run.Token)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // it leads no more
	}
	return err // a fence.ErrStale, too: this replica was frozen, and another has led since
}

// next adds the orders that there are after a position, and returns the newest position.
func (c *consumer) next(ctx context.Context, position string, token int64) (string, error) {
	found, err := c.client.XRead(ctx, &redis.XReadArgs{Streams: []string{orders, position}, Count: 100, Block: time.Second}).Result()
	if errors.Is(err, redis.Nil) {
		return position, nil // none came for a second
	}
	if err != nil {
		return position, err
	}
	for _, order := range found[0].Messages {
		total, err := c.add.Run(ctx, c.client, token, []string{sums}, order.Values["amount"], order.ID).Int()
		if err != nil {
			return position, err
		}
		position = order.ID
		fmt.Fprintln(c.out, "added", order.Values["amount"], "total", total)
	}
	return position, nil
}
