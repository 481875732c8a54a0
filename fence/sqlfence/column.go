package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/internal/fencing"
)

// Column is a column that keeps, in each row of a table, the newest token that has written the row.
// Make it so:
//
//	ALTER TABLE account ADD COLUMN token BIGINT NOT NULL DEFAULT 0
//
// A NULL is taken for 0, which is lower than every token. It is safe for concurrent use.
type Column struct {
	dialect           Dialect
	table, key, token string // quoted
	name              string
	newest            string
}

// NewColumn returns the column token of a table whose rows are named by the column key. key has to
// be unique. The error joins every fault.
func NewColumn(dialect Dialect, table, key, token string) (*Column, error) {
	if err := errors.Join(dialect.validate(), validTable(table), validColumns(key, token)); err != nil {
		return nil, err
	}
	c := &Column{dialect: dialect, table: dialect.quoteTable(table), key: dialect.quote(key), token: dialect.quote(token), name: table}
	c.newest = "SELECT COALESCE(" + c.token + ", 0) FROM " + c.table + " WHERE " + c.key + " = " + dialect.placeholder(1) + dialect.current()
	return c, nil
}

// Conn has the methods of a [*sql.DB], a [*sql.Tx] or a [*sql.Conn] that [Column.Update] needs.
type Conn interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Update updates the row of a key, unless the row has seen a higher token. Then nothing is written,
// and the error is a [*fence.StaleError] whose resource is the table, a slash and the key. Where
// there is no such row, the error matches [sql.ErrNoRows]. More than one is an error as well, but
// they are written, unless a transaction is rolled back.
//
// set is the SQL between SET and WHERE, with placeholders as the database wants them, numbered from
// 1, for args:
//
//	column.Update(ctx, db, 7, run.Token, "balance = balance + $1", 50)
//
// It goes into the statement as it is: never make it from what others send. It must not set the
// column of the token.
func (c *Column) Update(ctx context.Context, db Conn, key any, token int64, set string, args ...any) error {
	// The resource is only for the error; its rules are for names that are stored.
	if err := fencing.Validate("row", token); err != nil {
		return err
	}
	update := c.update(set, len(args))
	all := append(slices.Clone(args), token, key, token)
	unchanged := false
	for range 5 {
		result, err := db.ExecContext(ctx, update, all...)
		if err != nil {
			return fmt.Errorf("sqlfence: update %q: %w", c.name, err)
		}
		switch n, err := result.RowsAffected(); {
		case err != nil:
			return fmt.Errorf("sqlfence: update %q: %w", c.name, err)
		case n > 1:
			return fmt.Errorf("sqlfence: update %q: %d rows have the key %v; it must be unique", c.name, n, key)
		case n == 1:
			return nil
		}
		var newest int64
		switch err := db.QueryRowContext(ctx, c.newest, key).Scan(&newest); {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("sqlfence: update %q: nothing has the key %v: %w", c.name, key, err)
		case err != nil:
			return fmt.Errorf("sqlfence: update %q: %w", c.name, err)
		case newest > token:
			return &fence.StaleError{Resource: fmt.Sprintf("%s/%v", c.name, key), Token: token, Newest: newest}
		case c.dialect == MySQL && newest == token && unchanged:
			return nil // it has these values already, which MySQL counts as no row; it was there when we tried, for we had seen it before
		}
		// The row came between the statements, or is unchanged.
		unchanged = newest == token
	}
	return fmt.Errorf("sqlfence: update %q: the row of the key %v comes and goes, or a trigger leaves it out; nothing is written", c.name, key)
}

// update is the statement, with n arguments of the caller's and then token, key and token.
func (c *Column) update(set string, n int) string {
	p := c.dialect.placeholder
	return "UPDATE " + c.table + " SET " + set + ", " + c.token + " = " + p(n+1) +
		" WHERE " + c.key + " = " + p(n+2) + " AND COALESCE(" + c.token + ", 0) <= " + p(n+3)
}
