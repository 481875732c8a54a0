package sqlfence

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fence"
)

func newTable(t *testing.T, d Dialect, name string) *Table {
	t.Helper()
	table, err := NewTable(d, name)
	require.NoError(t, err)
	return table
}

func values(v ...driver.Value) []driver.Value { return v }

func TestTheSchemaIsInTheDialect(t *testing.T) {
	for d, want := range map[Dialect]string{
		PostgreSQL: `CREATE TABLE IF NOT EXISTS "s""x"."T t" (resource text COLLATE "C" PRIMARY KEY, token BIGINT NOT NULL)`,
		SQLite:     `CREATE TABLE IF NOT EXISTS "s""x"."T t" (resource TEXT NOT NULL PRIMARY KEY, token BIGINT NOT NULL)`,
		MySQL:      "CREATE TABLE IF NOT EXISTS `s\"x`.`T t` (resource VARBINARY(255) NOT NULL PRIMARY KEY, token BIGINT NOT NULL) ENGINE=InnoDB",
	} {
		require.Equal(t, want, newTable(t, d, `s"x.T t`).Schema())
		require.NotContains(t, d.String(), "Dialect")
	}
	require.Contains(t, newTable(t, MySQL, "a`; DROP TABLE b").Schema(), "`a``; DROP TABLE b`")
}

func TestFaultsOfNamesAreReportedTogether(t *testing.T) {
	_, err := NewTable(0, "")
	require.ErrorContains(t, err, "dialect 0")
	require.ErrorContains(t, err, `table ""`)
	for _, name := range []string{".", "a.", ".a", "a.b.c", "a\x00", "\xff", strings.Repeat("x", 64)} {
		_, err := NewTable(MySQL, name)
		require.ErrorContains(t, err, "table", "%q", name)
	}
	_, err = NewColumn(MySQL+1, "a..b", "", "to\x00ken")
	for _, field := range []string{"dialect 4", "table", "key", "token"} {
		require.ErrorContains(t, err, field)
	}
	_, err = NewColumn(MySQL, "account", "Token", "token")
	require.ErrorContains(t, err, "another column")
	_, err = NewColumn(MySQL, "account", "a.b", strings.Repeat("x", 63))
	require.NoError(t, err)
}

func TestCreateTriesOnceMore(t *testing.T) {
	table := newTable(t, PostgreSQL, "g")
	first, second := errors.New("first"), errors.New("second")
	require.NoError(t, table.Create(t.Context(), open(t, step{statement: table.Schema(), err: first}, step{statement: table.Schema()})))
	err := table.Create(t.Context(), open(t, step{statement: table.Schema(), err: first}, step{statement: table.Schema(), err: second}))
	require.ErrorIs(t, err, second)
}

const (
	upsert = `INSERT INTO "g" (resource, token) VALUES ($1, $2) ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE "g".token <= excluded.token`
	read   = `SELECT token FROM "g" WHERE resource = $1`

	upsertMySQL = "INSERT INTO `g` (resource, token) VALUES (?, ?) ON DUPLICATE KEY UPDATE token = GREATEST(token, ?)"
	readMySQL   = "SELECT token FROM `g` WHERE resource = ? FOR UPDATE"
)

func TestTransactionCommitsAfterCheckAndWork(t *testing.T) {
	begin, commit, rollback := step{statement: "BEGIN"}, step{statement: "COMMIT"}, step{statement: "ROLLBACK"}
	raise := step{statement: upsert, args: values("a", int64(5)), affected: 1}
	refused := step{statement: upsert, args: values("a", int64(5))}
	newest := func(row any, err error) step { return step{statement: read, args: values("a"), row: row, err: err} }
	raiseMySQL := step{statement: upsertMySQL, args: values("a", int64(5), int64(5))}
	newestMySQL := func(n int64) step { return step{statement: readMySQL, args: values("a"), row: n} }
	work := step{statement: "WORK"}
	failed := errors.New("failed")
	fails := func(s step) step { s.err = failed; return s }

	for name, c := range map[string]struct {
		dialect Dialect
		steps   []step
		want    string // of the error
		is      error
	}{
		"good":                   {PostgreSQL, []step{begin, raise, work, commit}, "", nil},
		"stale":                  {PostgreSQL, []step{begin, refused, newest(int64(6), nil), rollback}, "token 6", fence.ErrStale},
		"against its own rules":  {PostgreSQL, []step{begin, refused, newest(int64(5), nil), rollback}, "try again", nil},
		"gone":                   {PostgreSQL, []step{begin, refused, newest(nil, nil), rollback}, "check", sql.ErrNoRows},
		"no begin":               {PostgreSQL, []step{fails(begin)}, "begin", failed},
		"no check":               {PostgreSQL, []step{begin, fails(raise), rollback}, "check", failed},
		"no newest":              {PostgreSQL, []step{begin, refused, newest(nil, failed), rollback}, "check", failed},
		"no number of rows":      {PostgreSQL, []step{begin, {statement: upsert, args: raise.args, affected: -1}, rollback}, "cannot tell", nil},
		"no work":                {PostgreSQL, []step{begin, raise, fails(work), rollback}, "failed", failed},
		"no commit":              {PostgreSQL, []step{begin, raise, work, fails(commit)}, "commit", failed},
		"MySQL, good":            {MySQL, []step{begin, raiseMySQL, newestMySQL(5), work, commit}, "", nil},
		"MySQL, stale":           {MySQL, []step{begin, raiseMySQL, newestMySQL(6), rollback}, "token 6", fence.ErrStale},
		"MySQL, no answer to it": {MySQL, []step{begin, raiseMySQL, {statement: readMySQL, args: values("a"), err: failed}, rollback}, "check", failed},
	} {
		t.Run(name, func(t *testing.T) {
			err := newTable(t, c.dialect, "g").In(open(t, c.steps...)).Do(t.Context(), "a", 5, func(tx *sql.Tx) error {
				_, err := tx.ExecContext(t.Context(), "WORK")
				return err
			})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			if !errors.Is(c.is, fence.ErrStale) {
				require.NotErrorIs(t, err, fence.ErrStale)
			}
		})
	}
}

func TestWhatNoGuardTakesIsNotSent(t *testing.T) {
	db := open(t, step{statement: "BEGIN"}, step{statement: "ROLLBACK"})
	err := newTable(t, SQLite, "g").In(db).Raise(t.Context(), "", 0)
	require.ErrorContains(t, err, "resource")
	require.ErrorContains(t, err, "token 0")
}
