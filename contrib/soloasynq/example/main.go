// Command example enqueues a task of asynq each ten seconds, once for all replicas, and works on such tasks.
//
//	go -C soloasynq run ./example -redis redis://localhost:6379/0    # start it several times
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

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/contrib/soloasynq"
	"github.com/solotick/solotick/jobs"
)

func main() {
	url := flag.String("redis", "redis://localhost:6379/0", "URL of the Redis that the replicas share")
	flag.Parse()
	options, err := redis.ParseURL(*url)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client := redis.NewClient(options)
	if err := errors.Join(serve(ctx, client, "*/10 * * * * *", os.Stdout), client.Close()); err != nil {
		log.Fatal(err)
	}
}

// serve enqueues and works until ctx ends, and then lets both finish.
func serve(ctx context.Context, client *redis.Client, schedule string, out io.Writer) error {
	workers := asynq.NewServerFromRedisClient(client, asynq.Config{LogLevel: asynq.WarnLevel})
	if err := workers.Start(asynq.HandlerFunc(func(ctx context.Context, task *asynq.Task) error {
		id, _ := asynq.GetTaskID(ctx) // the tick's
		_, err := fmt.Fprintf(out, "%s: %s of %s\n", task.Type(), task.Payload(), id)
		return err
	})); err != nil {
		return err
	}
	defer workers.Shutdown()

	s := solotick.New(client, "asynq-example")
	_ = s.Func("invoices", schedule, soloasynq.Enqueue(asynq.NewClientFromRedisClient(client), newTask)) // Run returns its error
	return s.Run(ctx)
}

func newTask(_ context.Context, run jobs.Run) (*asynq.Task, error) {
	return asynq.NewTask("invoices", []byte(run.Tick.Format("15:04:05"))), nil
}
