package soloasynq_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/hibiken/asynq"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/contrib/soloasynq"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/solotest/processes"
)

func invoices(context.Context, jobs.Run) (*asynq.Task, error) {
	return asynq.NewTask("invoices", []byte("all")), nil
}

// worker processes tasks at once, and counts them by id.
type worker struct {
	mu   sync.Mutex
	done map[string]int
}

func (w *worker) ProcessTask(ctx context.Context, task *asynq.Task) error {
	id, _ := asynq.GetTaskID(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[id+" "+task.Type()+" "+string(task.Payload())]++
	return nil
}

func (w *worker) tasks() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.done)
}

func work(t *testing.T, f *processes.Fleet) *worker {
	t.Helper()
	w := &worker{done: map[string]int{}}
	server := asynq.NewServerFromRedisClient(f.Client(), asynq.Config{LogLevel: asynq.FatalLevel, TaskCheckInterval: 50 * time.Millisecond})
	require.NoError(t, server.Start(w))
	t.Cleanup(server.Shutdown)
	return w
}

func TestATickThatIsTakenOverEnqueuesOnce(t *testing.T) {
	var w *worker
	processes.Run(t, 2, func(r *processes.Replica) {
		enqueue := soloasynq.Enqueue(asynq.NewClientFromRedisClient(r.Client()), invoices)
		r.Func("invoices", "@yearly", func(ctx context.Context, run jobs.Run) error {
			if err := enqueue(ctx, run); err != nil {
				return err
			}
			return r.Write(ctx, 0, "enqueued") // and is killed
		})
	}, func(f *processes.Fleet) {
		w = work(t, f)
		f.Gate().Before(1, func(replica string) {
			f.Await("the task is not done", func() bool { return len(w.tasks()) == 1 })
			f.Kill(replica)
		})
		tick := f.Trigger("invoices")
		f.AwaitSucceeded("invoices", 1)
		run := f.Runs("invoices")[1]
		require.Equal(t, 2, run.Attempt)
		require.Equal(t, tick, run.Tick)
		require.Equal(t, map[string]int{run.TickID() + " invoices all": 1}, w.tasks())
		queue := asynq.NewInspectorFromRedisClient(f.Client())
		f.Await("tasks are under way", func() bool {
			info, err := queue.GetQueueInfo("default")
			require.NoError(t, err)
			return info.Completed == info.Processed
		})
		info, err := queue.GetQueueInfo("default")
		require.NoError(t, err)
		require.Equal(t, 1, info.Processed)
		require.Equal(t, 1, info.Size, "it is kept, and no other one waits")
	})
}

func TestEachTickIsATask(t *testing.T) {
	processes.Run(t, 2, func(r *processes.Replica) {
		r.Func("invoices", "* * * * * *", soloasynq.Enqueue(asynq.NewClientFromRedisClient(r.Client()), invoices, asynq.MaxRetry(1)))
	}, func(f *processes.Fleet) {
		w := work(t, f)
		f.Await("there are not three tasks", func() bool { return len(w.tasks()) >= 3 })
		for id, n := range w.tasks() {
			require.Equal(t, 1, n, id)
		}
		for _, e := range f.Runs("invoices") {
			require.NoError(t, e.Err)
		}
	})
}

// client answers with an error, or without.
type client struct{ err error }

func (c client) EnqueueContext(_ context.Context, _ *asynq.Task, options ...asynq.Option) (*asynq.TaskInfo, error) {
	if last := options[len(options)-1]; last.Type() != asynq.TaskIDOpt || last.Value() != "billing/invoices/1000" {
		return nil, errors.New("the last option is not the tick's id")
	}
	return nil, c.err
}

func TestFaultsFailTheAttempt(t *testing.T) {
	run := jobs.Run{Namespace: "billing", Job: "invoices", Tick: time.Unix(1, 0)}
	call := func(h jobs.Handler) error { return h(t.Context(), run) }
	away := errors.New("redis is away")
	require.ErrorIs(t, call(soloasynq.Enqueue(client{away}, invoices)), away)
	require.NoError(t, call(soloasynq.Enqueue(client{asynq.ErrTaskIDConflict}, invoices, asynq.TaskID("other"))))
	require.ErrorContains(t, call(soloasynq.Enqueue(nil, invoices)), "must be a client")
	require.ErrorContains(t, call(soloasynq.Enqueue(client{}, nil)), "a function that makes a task")
	require.ErrorIs(t, call(soloasynq.Enqueue(client{}, func(context.Context, jobs.Run) (*asynq.Task, error) { return nil, away })), away)
	require.ErrorContains(t, call(soloasynq.Enqueue(client{}, func(context.Context, jobs.Run) (*asynq.Task, error) { return nil, nil })), "nil must be a task") //nolint:nilnil // it is refused
}
