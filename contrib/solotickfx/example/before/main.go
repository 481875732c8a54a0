// Command before is a service that is wired with go.uber.org/fx and has one job, on robfig/cron:
// every replica runs it.
package main

import (
	"context"
	"log"

	"github.com/robfig/cron/v3"
	"go.uber.org/fx"
)

func main() {
	fx.New(fx.Provide(newCron), fx.Invoke(addReport)).Run()
}

func newCron(lifecycle fx.Lifecycle) *cron.Cron {
	c := cron.New()
	lifecycle.Append(fx.StartStopHook(c.Start, func(ctx context.Context) error {
		select {
		case <-c.Stop().Done():
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}))
	return c
}

func addReport(c *cron.Cron) error {
	_, err := c.AddFunc("@every 1s", report)
	return err
}

func report() {
	log.Print("reported")
}
