// Command after is the service of ../before on solocron: one replica runs each tick.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"
	"github.com/robfig/cron/v3"

	"github.com/solotick/solotick/contrib/solocron"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log.SetOutput(os.Stdout)

	c := solocron.New(redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}), "billing", solocron.WithChain(cron.SkipIfStillRunning(cron.DefaultLogger)))
	for _, err := range []error{
		second(c.AddFunc("nightly-report", "CRON_TZ=Europe/Berlin 0 2 * * *", nightlyReport)),
		second(c.AddFunc("send-invoices", "*/5 * * * *", sendInvoices)),
		second(c.AddFunc("refresh-rates", "@hourly", refreshRates)),
		second(c.AddFunc("poll-inbox", "@every 1s", pollInbox)),
		second(c.AddFunc("expire-carts", "@daily", expireCarts)),
		second(c.AddFunc("clean-sessions", "15 3 * * *", cleanSessions)),
		second(c.AddFunc("rebuild-index", "30 4 * * SUN", rebuildIndex)),
		second(c.AddFunc("close-month", "0 6 1 * *", closeMonth)),
		second(c.AddFunc("mail-digest", "0 8-18 * * MON-FRI", mailDigest)),
		second(c.AddFunc("retry-payments", "*/10 * * * *", retryPayments)),
		second(c.AddFunc("rotate-keys", "@weekly", rotateKeys)),
		second(c.AddFunc("snapshot-stock", "45 23 * * *", snapshotStock)),
	} {
		if err != nil {
			log.Fatal(err)
		}
	}
	c.Start()
	<-ctx.Done()
	<-c.Stop().Done()
}

func second(_ cron.EntryID, err error) error { return err }

func nightlyReport() {}
func sendInvoices()  {}
func refreshRates()  {}
func pollInbox()     { log.Print("polled the inbox") }
func expireCarts()   {}
func cleanSessions() {}
func rebuildIndex()  {}
func closeMonth()    {}
func mailDigest()    {}
func retryPayments() {}
func rotateKeys()    {}
func snapshotStock() {}
