package soloriver_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/contrib/soloriver"
	"github.com/solotick/solotick/lease/memlease"
)

// printer takes the place of a *river.Client, which needs a PostgreSQL.
type printer struct{ done chan struct{} }

func (p printer) Insert(_ context.Context, args river.JobArgs, opts *river.InsertOpts) (*rivertype.JobInsertResult, error) {
	defer close(p.done)
	fmt.Println(args.Kind(), "into", opts.Queue, "with a tick:", args.(InvoiceArgs).ID != "")
	return new(rivertype.JobInsertResult), nil
}

// Every replica has these lines, and each tick inserts one job. [InvoiceArgs] embeds a [soloriver.Tick].
func ExampleInsert() {
	client := printer{make(chan struct{})}
	s := solotick.On(new(memlease.Store), solotick.WithLogger(slog.New(slog.DiscardHandler))) // a service: solotick.New(redisClient, "billing")
	_ = s.Func("invoices", "0 2 * * *", soloriver.Insert(client, func(_ context.Context, tick soloriver.Tick) (InvoiceArgs, error) {
		return InvoiceArgs{Tick: tick, Country: "de"}, nil
	}, &river.InsertOpts{Queue: "reports"})) // Start returns its error
	if err := s.Start(); err != nil {
		log.Fatal(err)
	}
	if _, err := s.Trigger(context.Background(), "invoices", "example"); err != nil { // not to wait for the night
		log.Fatal(err)
	}
	<-client.done
	if err := s.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: invoices into reports with a tick: true
}
