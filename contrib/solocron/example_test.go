package solocron_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/contrib/solocron"
	"github.com/solotick/solotick/lease/memlease"
)

// A service makes its Cron with [solocron.New] and its Redis client; memory is a fleet of one process.
func Example() {
	c := solocron.On(new(memlease.Store), solocron.WithOptions(solotick.WithLogger(slog.New(slog.DiscardHandler))))
	done := make(chan struct{})
	if _, err := c.AddFunc("nightly-report", "CRON_TZ=Europe/Berlin 0 2 * * *", func() {
		fmt.Println("the report is made")
		close(done)
	}); err != nil {
		log.Fatal(err)
	}
	if err := c.Start(); err != nil {
		log.Fatal(err)
	}
	if _, err := c.Scheduler().Trigger(context.Background(), "nightly-report", "example"); err != nil { // not to wait for the night
		log.Fatal(err)
	}
	<-done
	<-c.Stop().Done() // the last run has ended
	// Output: the report is made
}
