package sqlfence

import (
	"context"
	"database/sql"
	"fmt"
)

// Database is a [Table] in a database. It is safe for concurrent use.
type Database struct {
	table *Table
	db    *sql.DB
}

// In returns the table in db, which the caller closes.
func (t *Table) In(db *sql.DB) *Database { return &Database{table: t, db: db} }

// Do runs work in a transaction that has checked the token first: see [Table.Check]. It commits
// when work returns nil. When work panics, or returns an error, which Do returns, it rolls back,
// and with it the remembered token. An error of the commit may leave it open whether it was
// committed, as ever. It does not try again by itself.
func (d *Database) Do(ctx context.Context, resource string, token int64, work func(tx *sql.Tx) error) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("sqlfence: begin for %q: %w", resource, err)
	}
	defer func() { _ = tx.Rollback() }() // says that it is done after a commit
	if err := d.table.Check(ctx, tx, resource, token); err != nil {
		return err
	}
	if err := work(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("sqlfence: commit for %q: %w", resource, err)
	}
	return nil
}

// Raise remembers the token, or refuses it with a [*fence.StaleError], in a transaction of its own:
// for the beginning of a run, and for fence/httpfence. It fences no later write.
func (d *Database) Raise(ctx context.Context, resource string, token int64) error {
	return d.Do(ctx, resource, token, func(*sql.Tx) error { return nil })
}
