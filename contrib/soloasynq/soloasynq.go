// Package soloasynq enqueues a task of github.com/hibiken/asynq for each tick of a job.
//
//	s := solotick.New(client, "billing")
//	s.Func("invoices", "0 2 * * *", soloasynq.Enqueue(queue, func(_ context.Context, run jobs.Run) (*asynq.Task, error) {
//		return asynq.NewTask("invoices", nil), nil
//	}))
//
// It takes the place of asynq.Scheduler, of which one may run. Every replica has the same jobs, and
// each tick enqueues one task, whichever replica runs it. asynq does all that comes then: queues,
// workers, retries.
//
// The task's id is the tick's, Run.TickID. A tick which is taken over, or whose reply was lost,
// does not enqueue another one: Redis refuses it, and the tick has succeeded. The handler of the
// task gets the id from asynq.GetTaskID.
//
// asynq forgets a task that is done, and then takes its id again. So tasks are kept for [Retention]
// after their end, unless an asynq.Retention among the options says otherwise. A replica that is
// frozen for longer than that before it enqueues can enqueue again. A tick's options must not
// change its queue while it is taken over, since ids are those of one queue.
package soloasynq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"github.com/solotick/solotick/jobs"
)

// Retention is how long a task that is done is kept, unless an option says otherwise.
const Retention = time.Hour

// Client enqueues tasks. An *asynq.Client is one.
type Client interface {
	EnqueueContext(ctx context.Context, task *asynq.Task, options ...asynq.Option) (*asynq.TaskInfo, error)
}

// Enqueue makes the handler of a job that enqueues a task for each tick. task makes it; its error
// fails the attempt, and so does one of Redis: the job's retry policy decides what follows. An
// asynq.TaskID among the options has no effect.
func Enqueue(client Client, task func(ctx context.Context, run jobs.Run) (*asynq.Task, error), options ...asynq.Option) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		if client == nil || task == nil {
			return errors.New("soloasynq: client and task: nil must be a client, and a function that makes a task")
		}
		t, err := task(ctx, run)
		if err == nil && t == nil {
			err = errors.New("nil must be a task")
		}
		if err != nil {
			return fmt.Errorf("soloasynq: the task of %s: %w", run.TickID(), err)
		}
		all := append([]asynq.Option{asynq.Retention(Retention)}, options...)
		_, err = client.EnqueueContext(ctx, t, append(all, asynq.TaskID(run.TickID()))...)
		if err != nil && !errors.Is(err, asynq.ErrTaskIDConflict) { // an earlier attempt has enqueued it
			return fmt.Errorf("soloasynq: enqueue %s: %w", run.TickID(), err)
		}
		return nil
	}
}
