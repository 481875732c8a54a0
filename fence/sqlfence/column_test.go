package sqlfence

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fence"
)

func TestAnUpdateKnowsWhyNoRowWasWritten(t *testing.T) {
	const (
		update = `UPDATE "s"."account" SET balance = $1, "to""ken" = $2 WHERE "id" = $3 AND COALESCE("to""ken", 0) <= $4`
		read   = `SELECT COALESCE("to""ken", 0) FROM "s"."account" WHERE "id" = $1`

		updateMySQL = "UPDATE `s`.`account` SET balance = ?, `to\"ken` = ? WHERE `id` = ? AND COALESCE(`to\"ken`, 0) <= ?"
		readMySQL   = "SELECT COALESCE(`to\"ken`, 0) FROM `s`.`account` WHERE `id` = ? FOR UPDATE"
	)
	args := values(int64(50), int64(5), "key", int64(5))
	rows := func(n int64) step { return step{statement: update, args: args, affected: n} }
	newest := func(row any) step { return step{statement: read, args: values("key"), row: row} }
	rowsMySQL := func(n int64) step { return step{statement: updateMySQL, args: args, affected: n} }
	newestMySQL := func(row any) step { return step{statement: readMySQL, args: values("key"), row: row} }
	failed := errors.New("failed")

	for name, c := range map[string]struct {
		dialect Dialect
		steps   []step
		want    string
		is      error
	}{
		"good":              {PostgreSQL, []step{rows(1)}, "", nil},
		"stale":             {PostgreSQL, []step{rows(0), newest(int64(6))}, `"s.account/key" has seen token 6`, fence.ErrStale},
		"no such row":       {PostgreSQL, []step{rows(0), newest(nil)}, "key", sql.ErrNoRows},
		"comes between":     {PostgreSQL, []step{rows(0), newest(int64(4)), rows(1)}, "", nil},
		"equal, between":    {PostgreSQL, []step{rows(0), newest(int64(5)), rows(1)}, "", nil},
		"many":              {PostgreSQL, []step{rows(2)}, "unique", nil},
		"no update":         {PostgreSQL, []step{{statement: update, args: args, err: failed}}, "update", failed},
		"no number of rows": {PostgreSQL, []step{rows(-1)}, "cannot tell", nil},
		"no newest":         {PostgreSQL, []step{rows(0), {statement: read, args: values("key"), err: failed}}, "update", failed},
		"never": {PostgreSQL, []step{rows(0), newest(int64(5)), rows(0), newest(int64(5)), rows(0), newest(int64(5)), rows(0),
			newest(int64(5)), rows(0), newest(int64(5))}, "comes and goes", nil},
		"MySQL, good":                {MySQL, []step{rowsMySQL(1)}, "", nil},
		"MySQL, stale":               {MySQL, []step{rowsMySQL(0), newestMySQL(int64(6))}, "token 6", fence.ErrStale},
		"MySQL, unchanged":           {MySQL, []step{rowsMySQL(0), newestMySQL(int64(5)), rowsMySQL(0), newestMySQL(int64(5))}, "", nil},
		"MySQL, equal, but between":  {MySQL, []step{rowsMySQL(0), newestMySQL(int64(5)), rowsMySQL(1)}, "", nil},
		"MySQL, lower, then between": {MySQL, []step{rowsMySQL(0), newestMySQL(int64(4)), rowsMySQL(0), newestMySQL(int64(5)), rowsMySQL(1)}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			column, err := NewColumn(c.dialect, "s.account", "id", `to"ken`)
			require.NoError(t, err)
			set := map[Dialect]string{PostgreSQL: "balance = $1", MySQL: "balance = ?"}[c.dialect]
			err = column.Update(t.Context(), open(t, c.steps...), "key", 5, set, 50)
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
	column, err := NewColumn(SQLite, "account", "id", "token")
	require.NoError(t, err)
	require.ErrorContains(t, column.Update(t.Context(), open(t), 7, 0, "balance = 1"), "token 0")
}
