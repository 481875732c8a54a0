// Command locks is a shop of which several replicas run. They guard the stock with a fair mutex and
// fenced writes. A semaphore limits the calls of a partner to two at a time, and an election picks
// the one that fills the stock up.
//
//	go run ./examples/locks                                    # alone, without Redis
//	go run ./examples/locks -redis redis://localhost:6379/0    # start it several times, and kill the one that leads
//
// docs/locks.md has the other kinds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/lock"
)

func main() {
	url := flag.String("redis", "", "URL of the Redis that the replicas share; empty: none, this process is alone")
	name := flag.String("name", "shop-"+strconv.Itoa(os.Getpid()), "what the others call this replica")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()

	store, stock, closeAll, err := open(*url)
	if err == nil {
		locks := lock.New(store, lock.WithHolder(*name))
		err = (&shop{name: *name, locks: locks, stock: stock, out: os.Stdout}).run(ctx)
		locks.Close()
		err = errors.Join(err, closeAll())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "locks:", err)
		os.Exit(1)
	}
}

// open returns where the locks are kept, and what they guard.
func open(url string) (lease.Store, stock, func() error, error) {
	if url == "" {
		return new(memlease.Store), new(memoryStock), func() error { return nil }, nil
	}
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, nil, nil, err
	}
	client := redis.NewClient(options) // the service's own; the store makes itself a small one from its options
	store, err := redislease.New(client, "shop")
	if err != nil {
		return nil, nil, nil, errors.Join(err, client.Close())
	}
	closeAll := func() error { return errors.Join(store.Close(), client.Close()) }
	stock, err := newRedisStock(client)
	if err != nil {
		return nil, nil, nil, errors.Join(err, closeAll())
	}
	return store, stock, closeAll, nil
}
