// Command before enqueues tasks with asynq's Scheduler, of which one may run.
package main

import (
	"log"
	"os"

	"github.com/hibiken/asynq"
)

func main() {
	redisOpt, err := asynq.ParseRedisURI(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	scheduler := asynq.NewScheduler(redisOpt, &asynq.SchedulerOpts{PostEnqueueFunc: enqueued})
	if _, err := scheduler.Register("@every 1s", asynq.NewTask("invoices", nil), asynq.Queue("reports")); err != nil {
		log.Fatal(err)
	}
	if err := scheduler.Run(); err != nil { // until SIGTERM
		log.Fatal(err)
	}
}

func enqueued(*asynq.TaskInfo, error) {
	log.Print("invoices are due")
}
