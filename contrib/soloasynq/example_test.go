package soloasynq_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"

	"github.com/hibiken/asynq"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/contrib/soloasynq"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

// printer takes the place of an *asynq.Client, which needs a Redis.
type printer struct{ done chan struct{} }

func (p printer) EnqueueContext(_ context.Context, task *asynq.Task, _ ...asynq.Option) (*asynq.TaskInfo, error) {
	defer close(p.done)
	fmt.Println(task.Type(), string(task.Payload()))
	return new(asynq.TaskInfo), nil
}

// Every replica has these lines, and each tick enqueues one task. The program in example has a queue, and works on its tasks.
func ExampleEnqueue() {
	queue := printer{make(chan struct{})}
	s := solotick.On(new(memlease.Store), solotick.WithLogger(slog.New(slog.DiscardHandler))) // a service: solotick.New(redisClient, "billing")
	_ = s.Func("invoices", "0 2 * * *", soloasynq.Enqueue(queue, func(context.Context, jobs.Run) (*asynq.Task, error) {
		return asynq.NewTask("invoices", []byte("all")), nil
	}, asynq.Queue("reports"))) // Start returns its error
	if err := s.Start(); err != nil {
		log.Fatal(err)
	}
	if _, err := s.Trigger(context.Background(), "invoices", "example"); err != nil { // not to wait for the night
		log.Fatal(err)
	}
	<-queue.done
	if err := s.Shutdown(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: invoices all
}
