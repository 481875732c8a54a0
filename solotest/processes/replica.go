package processes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/rpc"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/scheduler"
	"github.com/solotick/solotick/solotest"
	"github.com/solotick/solotick/solotest/internal/observed"
	"github.com/solotick/solotick/solotest/internal/wire"
)

// Replica is a process of the fleet, in that process. It is safe for concurrent use.
type Replica struct {
	start    wire.Start
	test     *rpc.Client
	client   *redis.Client
	store    lease.Store
	registry jobs.Registry
	faults   []error
	programs []func(ctx context.Context) error
	returned sync.Map // when the handler of a run did, by attempt
}

// attempt is one call of a handler.
type attempt struct {
	job    string
	token  int64
	number int
}

// started returns which replica this process is; ok is false in the test's process.
var started = sync.OnceValues(func() (start wire.Start, ok bool) {
	text, ok := os.LookupEnv(wire.Variable)
	if !ok {
		return start, false
	}
	_ = os.Unsetenv(wire.Variable) // what a job starts is no replica
	if err := json.Unmarshal([]byte(text), &start); err != nil {
		panic(fmt.Sprintf("solotest: %s: %v", wire.Variable, err))
	}
	return start, true
})

// serve makes this process a replica, and does not return.
func serve(t *testing.T, start wire.Start, replica func(r *Replica), set settings) {
	for _, pipe := range []int{3, 4} {
		syscall.CloseOnExec(pipe)
	}
	r := &Replica{start: start, test: rpc.NewClient(wire.Pipes{In: os.NewFile(3, "from the test"), Out: os.NewFile(4, "to the test")})}
	go func() {
		r.call("Await", wire.None{}, new(wire.None))
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // the test is over
	}()
	err := r.run(replica, set)
	if err == nil && t.Failed() {
		err = errors.New("the test failed in this replica")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// call asks the test. There is no error: without its test a replica ends.
func (r *Replica) call(method string, arg, answer any) {
	if err := r.test.Call(wire.Service+"."+method, arg, answer); err != nil {
		fmt.Fprintf(os.Stderr, "solotest: the test does not answer: %s: %v\n", method, err)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

func (r *Replica) run(replica func(r *Replica), set settings) error {
	if err := r.open(set); err != nil {
		return err
	}
	defer closeStore(r.store)
	replica(r)
	if err := errors.Join(r.faults...); err != nil {
		return err
	}
	own := []scheduler.Option{
		scheduler.WithReplica(r.start.Replica), scheduler.WithTTL(TTL), scheduler.WithSyncObserver(r.observe),
		scheduler.WithObserver(scheduler.LogEvents(slog.New(slog.NewTextHandler(os.Stderr, nil)))), scheduler.WithWrappers(r.watch),
	}
	s, err := scheduler.New(r.store, &r.registry, append(own, set.scheduler...)...)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var list []wire.Job
	for _, job := range r.registry.All() {
		list = append(list, wire.Job{Name: job.Name(), Schedule: job.Spec().Schedule, Timezone: job.Spec().Timezone})
	}
	var all sync.WaitGroup
	ended := make([]error, len(r.programs)+1)
	if len(list) > 0 {
		if err := s.Start(); err != nil {
			return err
		}
		if err := s.WaitReady(ctx); err != nil {
			return err
		}
		all.Go(func() { <-ctx.Done(); ended[len(r.programs)] = s.Shutdown(context.Background()) })
	}
	for i, program := range r.programs {
		all.Go(func() { ended[i] = program(ctx) })
	}
	r.call("Ready", list, new(wire.None))
	all.Wait()
	return errors.Join(ended...)
}

func (r *Replica) open(set settings) (err error) {
	if set.open != nil {
		r.store, err = set.open(r.start.Addrs, r.start.Namespace)
		return err
	}
	options, err := redis.ParseURL(r.start.URL)
	if err != nil {
		return err
	}
	r.client = redis.NewClient(options)
	r.store, err = redislease.New(r.client, r.start.Namespace)
	return err
}

// ID returns the replica's name.
func (r *Replica) ID() string { return r.start.Replica }

// Func adds a job; see jobs.New. A fault of it ends the replica.
func (r *Replica) Func(name, schedule string, handler jobs.Handler, options ...jobs.Option) {
	job, err := jobs.New(name, schedule, handler, options...)
	if err != nil {
		r.faults = append(r.faults, err)
		return
	}
	r.Job(job)
}

// Job adds jobs. A fault of one ends the replica.
func (r *Replica) Job(list ...*jobs.Job) { r.faults = append(r.faults, r.registry.Add(list...)) }

// Run runs a program in the replica, beside its jobs: one with another scheduler, say. Its context
// ends at SIGTERM. Its error ends the replica, when all have returned.
func (r *Replica) Run(program func(ctx context.Context) error) {
	r.programs = append(r.programs, program)
}

// Client returns a client of Redis, through the replica's proxy, or nil with [WithStore].
func (r *Replica) Client() *redis.Client { return r.client }

// Store returns the store of leases that the fleet shares, for locks and elections.
func (r *Replica) Store() lease.Store { return r.store }

// Write writes under a key of the gate, once more if there is something: as an UPDATE does, a mail,
// or a call of another service. ctx is that of the handler. token is that of the run, or 0 for a
// job that does not use it; a stale one is refused with [solotest.ErrStale].
func (r *Replica) Write(ctx context.Context, token int64, key string) error {
	return r.write(ctx, token, key, false)
}

// WriteOnce writes under a key of the gate unless there is something already. INSERT … ON CONFLICT
// DO NOTHING does the same, or a call that carries an idempotency key.
func (r *Replica) WriteOnce(ctx context.Context, token int64, key string) error {
	return r.write(ctx, token, key, true)
}

func (r *Replica) write(ctx context.Context, token int64, key string, once bool) error {
	run, _ := jobs.FromContext(ctx) // a program of Run has none
	run.Lease = nil
	w := wire.Write{Run: run, Key: key, Token: token, Once: once}
	r.call("Begin", w, &w.N) // a process that is frozen goes on here, whatever its context says by then
	var refused string
	r.call("Apply", w, &refused)
	if reason, stale := strings.CutPrefix(refused, solotest.ErrStale.Error()); stale {
		return fmt.Errorf("%w%s", solotest.ErrStale, reason)
	}
	return nil
}

func (r *Replica) observe(e scheduler.Event) {
	run, ending, ok := observed.Of(e)
	if !ok {
		return
	}
	run.Lease = nil
	event := wire.Event{Run: run, At: time.Now().UTC()}
	if ending != nil {
		if at, ok := r.returned.LoadAndDelete(attempt{naming.Keyed(run.Job, run.Key), run.Token, run.Attempt}); ok {
			event.At = at.(time.Time) // before the end was recorded
		} else { // the handler was not called, since the context had ended before
			event.At = event.At.Add(-ending.Ago)
		}
		event.Ended, event.Outcome, event.Lost = true, string(ending.Outcome), ending.Lost
		if ending.Err != nil {
			event.Err = ending.Err.Error()
		}
	}
	r.call("Event", event, new(wire.None))
}

// watch reports how each attempt takes the end of its context.
func (r *Replica) watch(next jobs.Handler) jobs.Handler {
	return func(ctx context.Context, run jobs.Run) error {
		returned := make(chan struct{})
		defer func() {
			r.returned.Store(attempt{naming.Keyed(run.Job, run.Key), run.Token, run.Attempt}, time.Now().UTC())
			close(returned)
		}()
		go func() {
			select {
			case <-returned:
			case <-ctx.Done():
				s := wire.Stopped{Job: run.Job, Cause: context.Cause(ctx).Error(), Overrun: !inTime(returned)}
				r.call("Stopped", s, new(wire.None))
			}
		}()
		return next(ctx, run)
	}
}

// inTime waits for the stop limit in small parts, so that a process that is frozen meanwhile has
// time when it goes on.
func inTime(returned <-chan struct{}) bool {
	const parts = 20
	for range parts {
		select {
		case <-returned:
			return true
		case <-time.After(StopLimit / parts):
		}
	}
	return false
}
