package guards

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/fence/sqlfence"
	"github.com/solotick/solotick/internal/fencing"
)

func TestTableRefusesTokensBelowTheNewestOnly(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		table := d.table(t, db)
		for _, step := range []struct {
			resource      string
			token, newest int64 // newest, where it is refused
		}{
			{"a", 5, 0}, {"a", 5, 0}, {"a", 4, 5}, {"a", fencing.MaxToken, 0}, {"a", fencing.MaxToken - 1, fencing.MaxToken}, {"a", fencing.MaxToken, 0},
			{"b", 1, 0}, {"A", 1, 0}, {"a ", 1, 0}, {"ä", 1, 0}, {"a%", 1, 0}, {strings.Repeat("é", 127), 2, 0}, {strings.Repeat("é", 127), 1, 2},
		} {
			err := check(t.Context(), db, table, step.resource, step.token)
			if step.newest == 0 {
				require.NoError(t, err, step)
				continue
			}
			require.ErrorIs(t, err, fence.ErrStale, step)
			stale, _ := errors.AsType[*fence.StaleError](err)
			require.Equal(t, &fence.StaleError{Resource: step.resource, Token: step.token, Newest: step.newest}, stale)
		}
		require.ErrorContains(t, check(t.Context(), db, table, "", 0), "token 0")
	})
}

func TestWhatIsRolledBackIsNotRemembered(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		table := d.table(t, db)
		require.NoError(t, check(t.Context(), db, table, "a", 5))
		mine := errors.New("mine")
		require.ErrorIs(t, table.In(db).Do(t.Context(), "a", 9, func(*sql.Tx) error { return mine }), mine)
		require.Panics(t, func() {
			_ = table.In(db).Do(t.Context(), "a", 9, func(*sql.Tx) error { panic("mine") })
		})
		require.NoError(t, check(t.Context(), db, table, "a", 6))
	})
}

func TestRefusedTransactionLocksNothingElse(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		table := d.table(t, db)
		require.NoError(t, check(t.Context(), db, table, "a", 5))
		require.ErrorIs(t, check(t.Context(), db, table, "a", 4), fence.ErrStale)
		require.Zero(t, db.Stats().InUse)
		require.NoError(t, check(t.Context(), db, table, "a", 5)) // is not locked by the one before
	})
}

func TestNewerHolderWaitsForAnOlderTransaction(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		table := d.table(t, db)
		var committing atomic.Bool
		newer := make(chan error, 1)
		require.NoError(t, table.In(db).Do(t.Context(), "a", 5, func(tx *sql.Tx) error {
			go func() {
				err := check(t.Context(), db, table, "a", 6)
				if !committing.Load() {
					err = errors.Join(err, errors.New("the newer holder did not wait"))
				}
				newer <- err
			}()
			require.Eventually(t, func() bool { return db.Stats().InUse == 2 }, 30*time.Second, time.Millisecond)
			for range 50 { // time for it to go wrong
				var one int
				if err := tx.QueryRowContext(t.Context(), "SELECT 1").Scan(&one); err != nil {
					return err
				}
			}
			committing.Store(true)
			return nil
		}))
		require.NoError(t, <-newer)
		require.ErrorIs(t, check(t.Context(), db, table, "a", 5), fence.ErrStale)
	})
}

func TestStaleTokenIsSeenInAnOldTransaction(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		table := d.table(t, db)
		require.NoError(t, check(t.Context(), db, table, "a", 5))
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer func() { _ = tx.Rollback() }()
		var seen int64
		require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT token FROM solotick_guard").Scan(&seen))
		require.NoError(t, check(t.Context(), db, table, "a", 7)) // another's

		err = table.Check(t.Context(), tx, "a", 6)
		if d.dialect == sqlfence.SQLite {
			require.True(t, isBusy(err), "%v", err) // whatever the timeout, since it has read: SQLITE_BUSY_SNAPSHOT
			require.NotErrorIs(t, err, fence.ErrStale)
			return
		}
		require.ErrorIs(t, err, fence.ErrStale)
	})
}

func TestNamesOfTablesAreTakenAsTheyAre(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		schema := map[sqlfence.Dialect]string{
			sqlfence.PostgreSQL: "SELECT current_schema()", sqlfence.MySQL: "SELECT database()", sqlfence.SQLite: "SELECT 'main'",
		}[d.dialect]
		var own string
		require.NoError(t, db.QueryRowContext(t.Context(), schema).Scan(&own))
		for _, name := range []string{"Select", `a"b; DROP TABLE x`, "a`b", "ta ble", own + ".qualified", own + `.qu"al`} {
			table, err := sqlfence.NewTable(d.dialect, name)
			require.NoError(t, err)
			require.NoError(t, table.Create(t.Context(), db), name)
			require.NoError(t, check(t.Context(), db, table, "a", 2), name)
			require.ErrorIs(t, check(t.Context(), db, table, "a", 1), fence.ErrStale, name)
		}
	})
}

func TestTableMayBeCreatedByManyAtOnce(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		for range 5 {
			table, err := sqlfence.NewTable(d.dialect, newName())
			require.NoError(t, err)
			var all sync.WaitGroup
			errs := make([]error, 8)
			for i := range errs {
				all.Go(func() { errs[i] = table.Create(t.Context(), db) })
			}
			all.Wait()
			require.NoError(t, errors.Join(errs...))
		}
	})
}

// history watches writers from outside. Its clock is logical: two readings are in the order in which they were taken.
type history struct {
	clock atomic.Int64

	mu     sync.Mutex
	writes []write
}

type write struct{ token, begun, ended int64 }

func (h *history) add(w write) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes = append(h.writes, w)
}

// verify fails the test for every write that began when one with a higher token had ended, and returns the newest token.
func (h *history) verify(t *testing.T) (newest int64) {
	t.Helper()
	require.NotEmpty(t, h.writes)
	for _, w := range h.writes {
		for _, other := range h.writes {
			if other.token > w.token && other.ended < w.begun {
				t.Errorf("token %d was written after %d", w.token, other.token)
			}
		}
		newest = max(newest, w.token)
	}
	return newest
}

// tokens are drawn in about the order in which they rise, so that a newer one is never far.
type tokens struct{ last atomic.Int64 }

func (t *tokens) draw() int64 { return max(1, t.last.Add(1)-rand.Int64N(8)) }

// No transaction with a lower token commits after one with a higher: many write to two resources.
func TestNoTransactionCommitsAfterANewer(t *testing.T) {
	const writers, turns = 12, 12
	each(t, func(t *testing.T, d database) {
		for _, level := range d.levels {
			t.Run(level.String(), func(t *testing.T) {
				db := d.open(t)
				table := d.table(t, db)
				resources := []string{"a", "b"}
				run(t, db, "CREATE TABLE register (resource VARCHAR(9) PRIMARY KEY, token BIGINT, writes BIGINT)")
				histories := make(map[string]*history)
				for _, r := range resources {
					run(t, db, "INSERT INTO register VALUES ('"+r+"', 0, 0)")
					histories[r] = new(history)
				}
				var all sync.WaitGroup
				var next tokens
				var stale, conflicts atomic.Int64
				errs := make([]error, writers)
				for i := range writers {
					all.Go(func() {
						for range turns {
							resource, token := resources[rand.IntN(2)], next.draw()
							h := histories[resource]
							err := d.untilDone(func() error {
								err := writeRegister(t.Context(), db, table, d, level, resource, token, h)
								if d.again(err) {
									conflicts.Add(1)
								}
								return err
							})
							switch {
							case errors.Is(err, fence.ErrStale):
								stale.Add(1)
							case err != nil && !errors.Is(err, errAbandoned):
								errs[i] = err
								return
							}
						}
					})
				}
				all.Wait()
				require.NoError(t, errors.Join(errs...))
				for _, r := range resources {
					newest := histories[r].verify(t)
					require.Equal(t, newest, number(t, db, d.fill("SELECT token FROM register WHERE resource = ?"), r), "what is written is not of the newest")
					require.Equal(t, int64(len(histories[r].writes)), number(t, db, d.fill("SELECT writes FROM register WHERE resource = ?"), r))
					require.Equal(t, newest, number(t, db, d.fill("SELECT token FROM solotick_guard WHERE resource = ?"), r))
				}
				require.Positive(t, stale.Load())
				t.Logf("%d stale, %d conflicts", stale.Load(), conflicts.Load())
			})
		}
	})
}

var errAbandoned = errors.New("the writer thought better of it")

func writeRegister(ctx context.Context, db *sql.DB, table *sqlfence.Table, d database, level sql.IsolationLevel, resource string, token int64, h *history) error {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := table.Check(ctx, tx, resource, token); err != nil {
		return err
	}
	var one int
	if err := tx.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil { // others are given their chance
		return err
	}
	if rand.IntN(8) == 0 {
		return errAbandoned
	}
	if _, err := tx.ExecContext(ctx, d.fill("UPDATE register SET token = ?, writes = writes + 1 WHERE resource = ?"), token, resource); err != nil {
		return err
	}
	begun := h.clock.Add(1)
	if err := tx.Commit(); err != nil {
		return err
	}
	h.add(write{token, begun, h.clock.Add(1)})
	return nil
}
