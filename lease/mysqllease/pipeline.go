package mysqllease

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// connector makes connections that send the statements of a transaction together: those whose
// answer does not matter wait for the next one whose does, or for the commit. So a transaction is
// two or three round trips, and its locks are held no longer than that.
type connector struct{ driver.Connector }

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{connection: made.(connection)}, nil
}

// connection is what one of go-sql-driver can do.
type connection interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// conn is used by one goroutine at a time, as database/sql does.
type conn struct {
	connection
	level   bool            // the session is READ COMMITTED
	within  context.Context //nolint:containedctx // that of the transaction; nil outside of one
	sent    bool            // the server knows of the transaction
	pending []string        // statements that were not sent yet, with their arguments
	args    []driver.NamedValue
	stale   bool // it leads to what is not the place any more
}

// IsValid implements [driver.Validator].
func (c *conn) IsValid() bool { return !c.stale && c.connection.IsValid() }

// BeginTx implements [driver.ConnBeginTx]. Every transaction is READ COMMITTED.
func (c *conn) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	c.reset()
	c.within, c.pending = ctx, []string{"START TRANSACTION"}
	if !c.level {
		c.pending = []string{"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "START TRANSACTION"}
	}
	return c, nil
}

func (c *conn) reset() { c.within, c.sent, c.pending, c.args = nil, false, nil, nil }

// take returns the pending statements with one more, and their arguments.
func (c *conn) take(statement string, args []driver.NamedValue) (string, []driver.NamedValue) {
	text, all := strings.Join(append(c.pending, statement), "; "), append(c.args, args...)
	c.level, c.sent, c.pending, c.args = true, true, nil, nil
	return text, all
}

// ExecContext implements [driver.ExecerContext]. Within a transaction its result says nothing, and
// what goes wrong the next query says, or the commit.
func (c *conn) ExecContext(ctx context.Context, statement string, args []driver.NamedValue) (driver.Result, error) {
	if c.within == nil {
		res, err := c.connection.ExecContext(ctx, statement, args)
		return res, c.checked(err)
	}
	c.pending, c.args = append(c.pending, strings.TrimSuffix(statement, ";")), append(c.args, args...)
	return driver.RowsAffected(0), nil
}

// QueryContext implements [driver.QueryerContext].
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if c.within != nil {
		query, args = c.take(query, args)
	}
	rows, err := c.connection.QueryContext(ctx, query, args)
	return rows, c.checked(err)
}

// Commit implements [driver.Tx].
func (c *conn) Commit() error {
	text, args := c.take("COMMIT", nil)
	_, err := c.connection.ExecContext(c.within, text, args)
	if err != nil { // what came before the COMMIT has failed, and the transaction is open still
		_ = c.Rollback()
	}
	c.reset()
	return c.checked(err)
}

// Rollback implements [driver.Tx].
func (c *conn) Rollback() (err error) {
	if c.sent {
		_, err = c.connection.ExecContext(context.Background(), "ROLLBACK", nil)
	}
	c.reset()
	return err
}

// checked has the pool close a connection whose database was dropped, or whose server is read-only:
// another may lead to the primary by now. It keeps database/sql from preparing what go-sql-driver
// does not interpolate: statements that are too large.
func (c *conn) checked(err error) error {
	c.stale = c.stale || number(err) == noDatabase || slices.Contains(readOnly, number(err))
	if errors.Is(err, driver.ErrSkip) {
		return mysql.ErrPktTooLarge
	}
	return err
}
