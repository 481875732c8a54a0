// Command before is a service with twelve jobs on robfig/cron: every replica runs each of them.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/robfig/cron/v3"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log.SetOutput(os.Stdout)

	c := cron.New(cron.WithChain(cron.SkipIfStillRunning(cron.DefaultLogger)))
	for _, err := range []error{
		second(c.AddFunc("CRON_TZ=Europe/Berlin 0 2 * * *", nightlyReport)),
		second(c.AddFunc("*/5 * * * *", sendInvoices)),
		second(c.AddFunc("@hourly", refreshRates)),
		second(c.AddFunc("@every 1s", pollInbox)),
		second(c.AddFunc("@daily", expireCarts)),
		second(c.AddFunc("15 3 * * *", cleanSessions)),
		second(c.AddFunc("30 4 * * SUN", rebuildIndex)),
		second(c.AddFunc("0 6 1 * *", closeMonth)),
		second(c.AddFunc("0 8-18 * * MON-FRI", mailDigest)),
		second(c.AddFunc("*/10 * * * *", retryPayments)),
		second(c.AddFunc("@weekly", rotateKeys)),
		second(c.AddFunc("45 23 * * *", snapshotStock)),
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
