package soloriver_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/contrib/soloriver"
	"github.com/solotick/solotick/internal/dbtest"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/solotest/processes"
)

// dsn is where replicas find the database.
const dsn = "SOLORIVER_TEST_DSN"

func TestMain(m *testing.M) {
	code := m.Run()
	dbtest.StopAll()
	os.Exit(code)
}

// database starts PostgreSQL in the test's process, and sets it up for river.
func database(t *testing.T) *pgxpool.Pool {
	t.Helper()
	if os.Getenv(dsn) != "" {
		return nil // a replica
	}
	server, err := dbtest.Postgres(func(ctx context.Context, dir string) error {
		conn, err := pgx.Connect(ctx, dbtest.PostgresDSN(dir))
		if err != nil {
			return err
		}
		return conn.Close(ctx)
	})
	if errors.Is(err, dbtest.ErrNotInstalled) {
		t.Skip(err) // make deps says so
	}
	require.NoError(t, err)
	t.Setenv(dsn, dbtest.PostgresDSN(server.Dir))
	pool := open(t)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	require.NoError(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	require.NoError(t, err)
	return pool
}

func open(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), os.Getenv(dsn))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

type InvoiceArgs struct {
	soloriver.Tick
	Country string `json:"country"`
}

func (InvoiceArgs) Kind() string { return "invoices" }

type worker struct {
	river.WorkerDefaults[InvoiceArgs]
	done chan InvoiceArgs
}

func (w *worker) Work(_ context.Context, job *river.Job[InvoiceArgs]) error {
	w.done <- job.Args
	return nil
}

func work(t *testing.T, pool *pgxpool.Pool) (done chan InvoiceArgs) {
	t.Helper()
	w := &worker{done: make(chan InvoiceArgs, 100)}
	workers := river.NewWorkers()
	river.AddWorker(workers, w)
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Workers: workers, Queues: map[string]river.QueueConfig{"reports": {MaxWorkers: 2}}, FetchPollInterval: 100 * time.Millisecond,
	})
	require.NoError(t, err)
	require.NoError(t, client.Start(t.Context()))
	t.Cleanup(func() { <-client.Stopped() })
	return w.done
}

func next(t *testing.T, done chan InvoiceArgs) (args InvoiceArgs) {
	t.Helper()
	select {
	case args = <-done:
	case <-time.After(time.Minute):
		require.Fail(t, "no job is done")
	}
	return args
}

func TestATickThatIsTakenOverInsertsOnce(t *testing.T) {
	pool := database(t)
	processes.Run(t, 2, func(r *processes.Replica) {
		client, err := river.NewClient(riverpgxv5.New(open(t)), &river.Config{})
		require.NoError(t, err)
		insert := soloriver.Insert(client, func(_ context.Context, tick soloriver.Tick) (InvoiceArgs, error) {
			return InvoiceArgs{Tick: tick, Country: "de"}, nil
		}, &river.InsertOpts{Queue: "reports"})
		r.Func("invoices", "@yearly", func(ctx context.Context, run jobs.Run) error {
			if err := insert(ctx, run); err != nil {
				return err
			}
			return r.Write(ctx, 0, "inserted") // and is killed
		})
	}, func(f *processes.Fleet) {
		done := work(t, pool)
		count := func(where string) (n int) {
			require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM river_job WHERE "+where).Scan(&n))
			return n
		}
		f.Gate().Before(1, func(replica string) {
			f.Await("the job is not done", func() bool { return count("state = 'completed'") == 1 })
			f.Kill(replica)
		})
		tick := f.Trigger("invoices")
		f.AwaitSucceeded("invoices", 1)
		run := f.Runs("invoices")[1]
		require.Equal(t, 2, run.Attempt)
		args := next(t, done)
		require.Equal(t, InvoiceArgs{Tick: soloriver.Tick{ID: run.TickID(), Time: tick, Token: args.Token}, Country: "de"}, args)
		require.Less(t, args.Token, run.Token, "it was the first attempt")
		require.Equal(t, 1, count("true"))

		f.Trigger("invoices")
		require.NotEqual(t, run.TickID(), next(t, done).ID, "another tick is another job")
		require.Equal(t, 2, count("true"))
	})
}

// client answers with an error, or without.
type client struct{ err error }

func (c client) Insert(_ context.Context, _ river.JobArgs, opts *river.InsertOpts) (*rivertype.JobInsertResult, error) {
	if !opts.UniqueOpts.ByArgs || opts.Queue != "reports" {
		return nil, errors.New("wrong options")
	}
	return new(rivertype.JobInsertResult), c.err
}

func TestFaultsFailTheAttempt(t *testing.T) {
	run := jobs.Run{Namespace: "billing", Job: "invoices", Tick: time.Unix(1, 0)}
	opts := &river.InsertOpts{Queue: "reports"}
	away := errors.New("the database is away")
	good := func(_ context.Context, tick soloriver.Tick) (InvoiceArgs, error) { return InvoiceArgs{Tick: tick}, nil }
	forgets := func(context.Context, soloriver.Tick) (InvoiceArgs, error) { return InvoiceArgs{}, nil }
	fails := func(context.Context, soloriver.Tick) (InvoiceArgs, error) { return InvoiceArgs{}, away }
	call := func(h jobs.Handler) error { return h(t.Context(), run) }
	require.NoError(t, call(soloriver.Insert(client{}, good, opts)))
	require.ErrorIs(t, call(soloriver.Insert(client{away}, good, opts)), away)
	require.ErrorIs(t, call(soloriver.Insert(client{}, fails, opts)), away)
	require.ErrorContains(t, call(soloriver.Insert(client{}, forgets, opts)), "must be the one that args is given")
	require.ErrorContains(t, call(soloriver.Insert(nil, good, opts)), "must be a client")
	require.ErrorContains(t, call(soloriver.Insert[InvoiceArgs](client{}, nil, opts)), "a function that makes arguments")
}
