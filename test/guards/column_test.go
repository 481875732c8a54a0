package guards

import (
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/fence/sqlfence"
)

func accounts(t *testing.T, d database, db *sql.DB) *sqlfence.Column {
	t.Helper()
	run(t, db, "CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT NOT NULL, token BIGINT)")
	run(t, db, "INSERT INTO account VALUES (7, 0, NULL), (8, 0, 0)")
	column, err := sqlfence.NewColumn(d.dialect, "account", "id", "token")
	require.NoError(t, err)
	return column
}

func TestColumnRefusesTokensBelowTheRowsOnly(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		column := accounts(t, d, db)
		set := d.fill("balance = balance + ?")
		require.NoError(t, column.Update(t.Context(), db, 7, 5, set, 10))
		require.NoError(t, column.Update(t.Context(), db, 7, 5, set, 10))
		err := column.Update(t.Context(), db, 7, 4, set, 1000)
		stale, ok := errors.AsType[*fence.StaleError](err)
		require.True(t, ok, err)
		require.Equal(t, &fence.StaleError{Resource: "account/7", Token: 4, Newest: 5}, stale)
		require.NoError(t, column.Update(t.Context(), db, 8, 4, set, 10)) // another row
		require.NoError(t, column.Update(t.Context(), db, 7, 6, set, 10))
		require.Equal(t, int64(30), number(t, db, "SELECT balance FROM account WHERE id = 7"))
		require.Equal(t, int64(6), number(t, db, "SELECT token FROM account WHERE id = 7"))
	})
}

func TestMissingRowIsNotStale(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		err := accounts(t, d, db).Update(t.Context(), db, 9, 5, "balance = 1")
		require.ErrorIs(t, err, sql.ErrNoRows)
		require.NotErrorIs(t, err, fence.ErrStale)
	})
}

func TestRowWithTheSameValuesIsWritten(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		column := accounts(t, d, db)
		for range 3 {
			require.NoError(t, column.Update(t.Context(), db, 7, 5, "balance = 1"))
		}
	})
}

func TestStaleUpdateIsSeenInAnOldTransaction(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		column := accounts(t, d, db)
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer func() { _ = tx.Rollback() }()
		var balance int64
		require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT balance FROM account WHERE id = 7").Scan(&balance))
		require.NoError(t, column.Update(t.Context(), db, 7, 6, "balance = 1")) // another's

		err = column.Update(t.Context(), tx, 7, 5, "balance = 2")
		if d.dialect == sqlfence.SQLite {
			require.True(t, isBusy(err), "%v", err) // whatever the timeout, since it has read: SQLITE_BUSY_SNAPSHOT
			require.NotErrorIs(t, err, fence.ErrStale)
			return
		}
		require.ErrorIs(t, err, fence.ErrStale)
	})
}

func TestKeyThatIsNotUniqueIsAnError(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		run(t, db, "CREATE TABLE pairs (k INTEGER, v INTEGER, token BIGINT)")
		run(t, db, "INSERT INTO pairs VALUES (1, 0, 0), (1, 0, 0)")
		column, err := sqlfence.NewColumn(d.dialect, "pairs", "k", "token")
		require.NoError(t, err)
		require.ErrorContains(t, column.Update(t.Context(), db, 1, 5, "v = 1"), "unique")
	})
}

// The same property as of a table: see TestNoTransactionCommitsAfterANewer.
func TestNoUpdateComesAfterANewer(t *testing.T) {
	each(t, func(t *testing.T, d database) {
		db := d.open(t)
		column := accounts(t, d, db)
		run(t, db, "ALTER TABLE account ADD COLUMN written BIGINT")
		set := d.fill("balance = balance + 1, written = ?")
		var h history
		var next tokens
		var stale atomic.Int64
		var all sync.WaitGroup
		errs := make([]error, 12)
		for i := range errs {
			all.Go(func() {
				for range 20 {
					token := next.draw()
					var begun int64
					err := d.untilDone(func() error {
						begun = h.clock.Add(1)
						return column.Update(t.Context(), db, 7, token, set, token)
					})
					switch {
					case err == nil:
						h.add(write{token, begun, h.clock.Add(1)})
					case errors.Is(err, fence.ErrStale):
						stale.Add(1)
					default:
						errs[i] = err
						return
					}
				}
			})
		}
		all.Wait()
		require.NoError(t, errors.Join(errs...))
		newest := h.verify(t)
		require.Equal(t, newest, number(t, db, "SELECT written FROM account WHERE id = 7"), "what is written is not of the newest")
		require.Equal(t, newest, number(t, db, "SELECT token FROM account WHERE id = 7"))
		require.Equal(t, int64(len(h.writes)), number(t, db, "SELECT balance FROM account WHERE id = 7"))
		require.Positive(t, stale.Load())
	})
}
