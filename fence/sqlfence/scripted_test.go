package sqlfence

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// step is a statement that a scripted database expects, and what it answers.
type step struct {
	statement string
	args      []driver.Value
	affected  int64 // by a statement; -1 says that the driver does not know
	row       any   // of a query; nil for none
	err       error
}

// scripted is a database that expects exactly these statements, with BEGIN, COMMIT and ROLLBACK
// among them.
type scripted struct {
	t     *testing.T
	steps []step
}

func open(t *testing.T, steps ...step) *sql.DB {
	t.Helper()
	s := &scripted{t, steps}
	db := sql.OpenDB(s)
	t.Cleanup(func() {
		require.NoError(t, db.Close())
		require.Empty(t, s.steps, "statements that did not come")
	})
	return db
}

func (s *scripted) next(statement string, args []driver.NamedValue) step {
	if len(s.steps) == 0 {
		s.t.Errorf("unexpected: %s", statement)
		return step{err: errors.New("unexpected")}
	}
	n := s.steps[0]
	s.steps = s.steps[1:]
	var got []driver.Value
	for _, a := range args {
		got = append(got, a.Value)
	}
	// To end the goroutine here, as require does, would leave locks of database/sql behind.
	if statement != n.statement || !slices.Equal(got, n.args) {
		s.t.Errorf("got  %s %v\nwant %s %v", statement, got, n.statement, n.args)
	}
	return n
}

func (s *scripted) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *scripted) Driver() driver.Driver                        { return nil }
func (s *scripted) Close() error                                 { return nil }
func (s *scripted) Prepare(string) (driver.Stmt, error)          { return nil, errors.ErrUnsupported }
func (s *scripted) Begin() (driver.Tx, error)                    { return nil, errors.ErrUnsupported }

func (s *scripted) BeginTx(context.Context, driver.TxOptions) (driver.Tx, error) {
	return s, s.next("BEGIN", nil).err
}
func (s *scripted) Commit() error   { return s.next("COMMIT", nil).err }
func (s *scripted) Rollback() error { return s.next("ROLLBACK", nil).err }

func (s *scripted) ExecContext(_ context.Context, statement string, args []driver.NamedValue) (driver.Result, error) {
	n := s.next(statement, args)
	return result(n.affected), n.err
}

func (s *scripted) QueryContext(_ context.Context, statement string, args []driver.NamedValue) (driver.Rows, error) {
	n := s.next(statement, args)
	return &rows{n.row}, n.err
}

type result int64

func (r result) LastInsertId() (int64, error) { return 0, errors.ErrUnsupported }
func (r result) RowsAffected() (int64, error) {
	if r < 0 {
		return 0, fmt.Errorf("it cannot tell")
	}
	return int64(r), nil
}

type rows struct{ value any }

func (r *rows) Columns() []string { return []string{"token"} }
func (r *rows) Close() error      { return nil }
func (r *rows) Next(dest []driver.Value) error {
	if r.value == nil {
		return io.EOF
	}
	dest[0], r.value = r.value, nil
	return nil
}
