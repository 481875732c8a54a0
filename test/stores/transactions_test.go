package stores

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/scheduler"
	"github.com/solotick/solotick/schedules"
)

// inTransactions is a store of a database in which callers change schedules by transactions of their own.
type inTransactions interface {
	lease.Store
	InTx(tx *sql.Tx) lease.Store
}

// transactions are those of a table customers, beside the schedules of a job.
type transactions struct {
	*testing.T
	db    *sql.DB
	store inTransactions
	all   *schedules.Schedules
	ran   chan string // keys
}

func TestSchedulesChangeInTransactionsOfTheCaller(t *testing.T) {
	for _, c := range []struct {
		kit
		driver string
		dsn    func(addr string) string
	}{
		{postgreSQL, "pgx", func(addr string) string { return postgresURL(addr) }},
		{mariaDB, "mysql", func(addr string) string { return "fleet@tcp(" + addr + ")/fleet" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := c.start(t)
			s, err := c.open(server.addrs, "tenants")
			require.NoError(t, err)
			store := s.(inTransactions)
			db, err := sql.Open(c.driver, c.dsn(server.addrs[0]))
			require.NoError(t, err)
			defer func() { require.NoError(t, errors.Join(db.Close(), store.(io.Closer).Close())) }()
			f := &transactions{T: t, db: db, store: store, ran: make(chan string, 100)}
			job, err := jobs.New("report", "", func(_ context.Context, run jobs.Run) error { f.ran <- run.Key; return nil }, jobs.WithSchedules())
			require.NoError(t, err)
			f.all, err = schedules.Of(store, job)
			require.NoError(t, err)
			_, err = db.ExecContext(t.Context(), "CREATE TABLE customers (name VARCHAR(64) PRIMARY KEY)")
			require.NoError(t, err)
			for name, test := range map[string]func(f *transactions){
				"CommitTakesBoth": commitTakesBoth, "RollbackTakesNeither": rollbackTakesNeither, "ConcurrentPutsWaitAndConflict": concurrentPuts,
				"PutInAnOldTransactionActsFromNow": oldTransaction, "FailedPutFailsTheTransaction": failedPut,
				"CommittedScheduleRuns": func(f *transactions) { f.runs(job) },
			} {
				t.Run(name, func(t *testing.T) { one := *f; one.T = t; test(&one) })
			}
		})
	}
}

// begin begins a transaction, and returns the schedules in it.
func (f *transactions) begin() (*sql.Tx, *schedules.Schedules) {
	f.Helper()
	tx, err := f.db.BeginTx(f.Context(), nil)
	require.NoError(f, err)
	f.Cleanup(func() { _ = tx.Rollback() })
	return tx, f.all.On(f.store.InTx(tx))
}

func (f *transactions) exec(tx *sql.Tx, query string) {
	f.Helper()
	_, err := tx.ExecContext(f.Context(), query)
	require.NoError(f, err)
}

func (f *transactions) customers(name string) (n int) {
	f.Helper()
	require.NoError(f, f.db.QueryRowContext(f.Context(), "SELECT count(*) FROM customers WHERE name = '"+name+"'").Scan(&n))
	return n
}

func (f *transactions) acts() (n int) {
	f.Helper()
	of, err := fleet.New(f.store)
	require.NoError(f, err)
	log, err := of.Audit(f.Context(), "", 100)
	require.NoError(f, err)
	return len(log.Facts)
}

func (f *transactions) isThere(key string) bool {
	f.Helper()
	_, err := f.all.Get(f.Context(), key)
	if err != nil {
		require.ErrorIs(f, err, schedules.ErrNotFound)
	}
	return err == nil
}

var act = schedules.As(fleet.Act{By: "ops", Reason: "signed up"})

func commitTakesBoth(f *transactions) {
	tx, in := f.begin()
	f.exec(tx, "INSERT INTO customers VALUES ('acme')")
	before := f.acts()
	r, err := in.Put(f.Context(), schedules.Schedule{Key: "acme", Cron: "@daily"}, act)
	require.NoError(f, err)
	require.Equal(f, schedules.Created, r.Status)
	row, err := in.Get(f.Context(), "acme")
	require.NoError(f, err)
	require.Equal(f, r.Revision, row.Revision)
	page, err := in.List(f.Context(), "acme", "", 9)
	require.NoError(f, err)
	require.Len(f, page.Schedules, 1)
	require.False(f, f.isThere("acme"))
	require.NoError(f, tx.Commit())
	require.True(f, f.isThere("acme"))
	require.Equal(f, 1, f.customers("acme"))
	require.Equal(f, before+1, f.acts())

	tx, in = f.begin()
	f.exec(tx, "DELETE FROM customers WHERE name = 'acme'")
	deleted, err := in.Delete(f.Context(), "acme", schedules.IfRevision(r.Revision), act)
	require.NoError(f, err)
	require.True(f, deleted)
	require.True(f, f.isThere("acme"))
	require.NoError(f, tx.Commit())
	require.False(f, f.isThere("acme"))
	require.Equal(f, 0, f.customers("acme"))
}

func rollbackTakesNeither(f *transactions) {
	_, err := f.all.Put(f.Context(), schedules.Schedule{Key: "kept", Cron: "@daily"})
	require.NoError(f, err)
	before := f.acts()
	tx, in := f.begin()
	f.exec(tx, "INSERT INTO customers VALUES ('gone')")
	results, err := in.PutAll(f.Context(), []schedules.Schedule{{Key: "gone", Cron: "@daily"}, {Key: "kept", Cron: "@hourly"}}, act)
	require.NoError(f, err)
	require.Equal(f, []schedules.Status{schedules.Created, schedules.Changed}, []schedules.Status{results[0].Status, results[1].Status})
	_, err = in.Delete(f.Context(), "kept")
	require.NoError(f, err)
	require.NoError(f, tx.Rollback())
	require.False(f, f.isThere("gone"))
	require.Equal(f, 0, f.customers("gone"))
	require.Equal(f, before, f.acts())
	row, err := f.all.Get(f.Context(), "kept")
	require.NoError(f, err)
	require.Equal(f, "@daily", row.Cron)
	r, err := f.all.Put(f.Context(), schedules.Schedule{Key: "gone", Cron: "@daily"})
	require.NoError(f, err)
	require.Equal(f, schedules.Created, r.Status)
}

func concurrentPuts(f *transactions) {
	tx, in := f.begin()
	_, err := in.Put(f.Context(), schedules.Schedule{Key: "both", Cron: "@daily"})
	require.NoError(f, err)
	var others sync.WaitGroup
	waits := make(chan error, 1)
	others.Go(func() {
		_, err := f.all.Put(f.Context(), schedules.Schedule{Key: "both", Cron: "@hourly"}, schedules.IfAbsent())
		waits <- err
	})
	select {
	case err := <-waits:
		require.Fail(f, "the other put did not wait", "%v", err)
	case <-time.After(200 * time.Millisecond):
	}
	require.NoError(f, tx.Commit())
	others.Wait()
	require.ErrorIs(f, <-waits, schedules.ErrRevision)

	tx, in = f.begin()
	row, err := in.Get(f.Context(), "both")
	require.NoError(f, err)
	_, err = f.all.Put(f.Context(), schedules.Schedule{Key: "both", Cron: "@monthly"})
	require.NoError(f, err)
	_, err = in.Put(f.Context(), schedules.Schedule{Key: "both", Cron: "@hourly"}, schedules.IfRevision(row.Revision))
	require.ErrorIs(f, err, schedules.ErrRevision)
	f.exec(tx, "INSERT INTO customers VALUES ('both')") // it goes on
	require.NoError(f, tx.Commit())
	row, err = f.all.Get(f.Context(), "both")
	require.NoError(f, err)
	require.Equal(f, "@monthly", row.Cron)
}

// The clock of a transaction may stand still.
func oldTransaction(f *transactions) {
	tx, in := f.begin()
	f.exec(tx, "INSERT INTO customers VALUES ('late')")
	began := time.Now()
	time.Sleep(5500 * time.Millisecond)
	_, err := in.Put(f.Context(), schedules.Schedule{Key: "late", At: began.Add(time.Second)})
	var fault *jobs.Fault
	require.ErrorAs(f, err, &fault, "it is over")
	r, err := in.Put(f.Context(), schedules.Schedule{Key: "late", Cron: "@every 1s"})
	require.NoError(f, err)
	require.NoError(f, tx.Commit())
	require.Greater(f, r.Next, began.Add(5*time.Second))
	_, err = f.all.Delete(f.Context(), "late")
	require.NoError(f, err)
}

func failedPut(f *transactions) {
	tx, in := f.begin()
	f.exec(tx, "INSERT INTO customers VALUES ('failed')")
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	_, err := in.Put(ctx, schedules.Schedule{Key: "failed", Cron: "@daily"})
	require.ErrorIs(f, err, context.Canceled)
	_ = tx.Rollback()
	require.False(f, f.isThere("failed"))
	_, err = in.Put(f.Context(), schedules.Schedule{Key: "failed", Cron: "@daily"})
	require.ErrorIs(f, err, sql.ErrTxDone)
}

// Replicas find it by their look, as nobody notifies them.
func (f *transactions) runs(job *jobs.Job) {
	registry := new(jobs.Registry)
	require.NoError(f, registry.Add(job))
	s, err := scheduler.New(f.store, registry)
	require.NoError(f, err)
	ctx, stop := context.WithCancel(f.Context())
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	defer running.Wait()
	defer stop()
	time.Sleep(2 * time.Second)
	tx, in := f.begin()
	r, err := in.Put(f.Context(), schedules.Schedule{Key: "soon", At: time.Now().Add(2 * time.Second)})
	require.NoError(f, err)
	require.NoError(f, tx.Commit())
	select {
	case key := <-f.ran:
		require.Equal(f, "soon", key)
		require.InDelta(f, 0, time.Since(r.Next).Seconds(), 1)
	case <-time.After(10 * time.Second):
		require.Fail(f, "the schedule did not run")
	}
}
