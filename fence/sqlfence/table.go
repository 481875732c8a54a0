package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/internal/fencing"
)

// DefaultName is a good name for a [Table].
const DefaultName = "solotick_guard"

// Table is a table in the database with the newest token of each resource: resource, the key, and
// token. Rows are never removed. Remove one to forget its token:
//
//	DELETE FROM solotick_guard WHERE resource = 'account-7'
//
// It is safe for concurrent use.
type Table struct {
	dialect               Dialect
	schema, raise, newest string
}

// NewTable returns the table of a name, which has to be in the database before it is used: see
// [Table.Create]. The error joins every fault.
func NewTable(dialect Dialect, name string) (*Table, error) {
	if err := errors.Join(dialect.validate(), validTable(name)); err != nil {
		return nil, err
	}
	table := dialect.quoteTable(name)
	t := &Table{
		dialect: dialect,
		newest:  "SELECT token FROM " + table + " WHERE resource = " + dialect.placeholder(1) + dialect.current(),
	}
	// Names of resources are compared byte by byte in each.
	key := map[Dialect]string{
		PostgreSQL: `text COLLATE "C" PRIMARY KEY`,
		SQLite:     "TEXT NOT NULL PRIMARY KEY",
		MySQL:      fmt.Sprintf("VARBINARY(%d) NOT NULL PRIMARY KEY", fencing.MaxResource),
	}[dialect]
	t.schema = "CREATE TABLE IF NOT EXISTS " + table + " (resource " + key + ", token BIGINT NOT NULL)"
	insert := "INSERT INTO " + table + " (resource, token) VALUES (" + dialect.placeholder(1) + ", " + dialect.placeholder(2) + ")"
	if dialect == MySQL {
		t.schema += " ENGINE=InnoDB" // others have no transactions
		t.raise = insert + " ON DUPLICATE KEY UPDATE token = GREATEST(token, ?)"
	} else {
		// The row is locked also where it is not updated. PostgreSQL compares with its newest
		// version, not with what the transaction sees.
		t.raise = insert + " ON CONFLICT (resource) DO UPDATE SET token = excluded.token WHERE " + table + ".token <= excluded.token"
	}
	return t, nil
}

// Schema returns the statement that creates the table where there is none, for use in migrations.
func (t *Table) Schema() string { return t.schema }

// Create creates the table where there is none. It may be called by many processes at once.
func (t *Table) Create(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, t.schema)
	if err != nil {
		// PostgreSQL fails one of two that create it at once, after the other has committed.
		_, err = db.ExecContext(ctx, t.schema)
	}
	if err != nil {
		return fmt.Errorf("sqlfence: create the table: %w", err)
	}
	return nil
}

// Check remembers token as the newest of the resource, unless the resource has seen a higher one.
// Then the error is a [*fence.StaleError], and the transaction should be rolled back. It holds for
// the transaction: the resource's row is locked until that ends, and what it remembers is there
// when it commits. Call it before the writes that it fences.
//
// Any other error says nothing about the token: see the package comment for those that are worth
// another transaction.
func (t *Table) Check(ctx context.Context, tx *sql.Tx, resource string, token int64) error {
	if err := fencing.Validate(resource, token); err != nil {
		return err
	}
	args := []any{resource, token}
	if t.dialect == MySQL {
		args = append(args, token)
	}
	result, err := tx.ExecContext(ctx, t.raise, args...)
	if err != nil {
		return fmt.Errorf("sqlfence: check %q: %w", resource, err)
	}
	if t.dialect != MySQL { // which counts a row that keeps its token as no row
		switch n, err := result.RowsAffected(); {
		case err != nil:
			return fmt.Errorf("sqlfence: check %q: %w", resource, err)
		case n > 0:
			return nil
		}
	}
	var newest int64
	if err := tx.QueryRowContext(ctx, t.newest, resource).Scan(&newest); err != nil {
		return fmt.Errorf("sqlfence: check %q: %w", resource, err)
	}
	switch {
	case newest > token:
		return &fence.StaleError{Resource: resource, Token: token, Newest: newest}
	case t.dialect == MySQL:
		return nil
	}
	// The row was refused as newer, and is locked since. So the token that is read now is not
	// older, in any database that keeps to its rules.
	return fmt.Errorf("sqlfence: check %q: token %d was refused, but the newest is read as %d; roll back and try again",
		resource, token, newest)
}
