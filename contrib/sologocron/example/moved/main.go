// Command moved is the service of ../before on package solotick: another replica goes on where one
// has died, and missed ticks are caught up.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	check(err)
	client := redis.NewClient(options)
	defer client.Close()

	s := solotick.New(client, "billing")
	add(s, "send-invoices", "*/5 * * * *", sendInvoices)
	add(s, "refresh-rates", "@hourly", refreshRates)
	add(s, "poll-inbox", "* * * * * *", pollInbox)
	add(s, "expire-carts", "@daily", expireCarts)
	add(s, "clean-sessions", "15 3 * * *", cleanSessions)
	add(s, "close-month", "0 6 1 * *", closeMonth)
	add(s, "mail-digest", "0 8-18 * * MON-FRI", mailDigest)
	check(s.Run(ctx))
}

func add(s *solotick.Scheduler, name, when string, do func()) {
	err := s.Func(name, when, func(context.Context, solotick.Run) error { do(); return nil })
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func sendInvoices()  {}
func refreshRates()  {}
func pollInbox()     { log.Print("polled the inbox") }
func expireCarts()   {}
func cleanSessions() {}
func closeMonth()    {}
func mailDigest()    {}
