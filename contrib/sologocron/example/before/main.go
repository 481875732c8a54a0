// Command before is a service with seven jobs on gocron, which shares them among its replicas with
// a lock in Redis.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/contrib/sologocron/example/before/internal/redislock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	check(err)
	client := redis.NewClient(options)
	defer client.Close()

	locker, err := redislock.NewRedisLocker(client)
	check(err)
	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker), gocron.WithLocation(time.UTC))
	check(err)
	add(s, "send-invoices", gocron.CronJob("*/5 * * * *", false), sendInvoices)
	add(s, "refresh-rates", gocron.CronJob("@hourly", false), refreshRates)
	add(s, "poll-inbox", gocron.CronJob("* * * * * *", true), pollInbox)
	add(s, "expire-carts", gocron.CronJob("@daily", false), expireCarts)
	add(s, "clean-sessions", gocron.CronJob("15 3 * * *", false), cleanSessions)
	add(s, "close-month", gocron.CronJob("0 6 1 * *", false), closeMonth)
	add(s, "mail-digest", gocron.CronJob("0 8-18 * * MON-FRI", false), mailDigest)
	s.Start()
	<-ctx.Done()
	check(s.Shutdown())
}

func add(s gocron.Scheduler, name string, when gocron.JobDefinition, do func()) {
	_, err := s.NewJob(when, gocron.NewTask(do), gocron.WithName(name))
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
