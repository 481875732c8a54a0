// Command after is the program of ../before on soloasynq: every replica runs it, and each tick
// enqueues one task.
package main

import (
	"context"
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
	redisOpt, err := asynq.ParseRedisURI(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	client := redisOpt.MakeRedisClient().(redis.UniversalClient)
	s := solotick.New(client, "billing")
	_ = s.Func("invoices", "@every 1s", soloasynq.Enqueue(asynq.NewClientFromRedisClient(client), newTask, asynq.Queue("reports")))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := s.Run(ctx); err != nil { // until SIGTERM
		log.Fatal(err)
	}
}

func newTask(context.Context, jobs.Run) (*asynq.Task, error) {
	log.Print("invoices are due")
	return asynq.NewTask("invoices", nil), nil
}
