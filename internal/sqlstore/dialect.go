// Package sqlstore keeps leases in tables of a database that many machines share. What differs
// between databases is a [Dialect].
//
// # Rows
//
// Each item of the driver's contract is a row of solotick_item, which also exists for a list that
// has no value beside it; its list is in solotick_entry. A change locks the rows that it names, in
// the order of their keys, reads the server's clock once they are locked, and lets driver.Item
// decide. When keys JOB/KEY are due is in solotick_due, which changes with their rows. Calls that
// come while others are under way share the next transaction. What the server rolled back on its
// own account (a deadlock) is repeated: changes carry an id, so none is made twice.
package sqlstore

import (
	"context"
	"database/sql"
	"strconv"
	"strings"

	"github.com/solotick/solotick/lease/driver"
)

// Dialect has the differences between databases. Queries of this package have ? for a parameter.
type Dialect struct {
	Package  string // begins the errors
	Numbered bool   // parameters are $1, $2

	// Now is an expression for the server's clock when it is evaluated, and never when the transaction
	// began. Began is one for a time no later than what a statement sees that is alone in its
	// transaction. Both are in µs since 1970.
	Now, Began string
	// Digest is an expression for a text that differs where the bytes in column body do.
	Digest string

	// Migrations make the tables, each from the one before; statements end with a semicolon at the
	// end of a line. They may be begun by several processes at once: where a statement of the
	// database ends the transaction, it has to bear being repeated.
	Migrations []string
	// Columns is a query for a row "table column type" of each column of the tables, and Tables what
	// it returns, in any order, a line each.
	Columns, Tables string

	// Begin is a statement at the beginning of a transaction of several statements. Optional.
	Begin string

	// Prepare makes and checks whatever else there has to be. It may be called again. Optional.
	Prepare func(ctx context.Context, db *sql.DB) error

	// Again reports whether the server has rolled back a transaction that may work when it is
	// repeated.
	Again func(err error) bool
	// Missing reports whether a table, or what Prepare makes, is not there: somebody has removed it.
	Missing func(err error) bool
	// Advice says what to do about an error, and whether it stays until somebody does.
	Advice func(err error) (hint string, permanent bool)

	// Listen calls wake with the payload of each Notify until ctx or its connection ends. It may be
	// that none arrives. Optional, with Notify: a statement that has all who listen woken with a
	// payload, its parameter, once its transaction has ended.
	Listen func(ctx context.Context, db *sql.DB, wake func(payload string)) error
	Notify string
	// Due is a query for keys and due times in an index, in any order. Its parameters are a list of
	// shares, the namespace, the job, until when keys are due, and how many of each share it returns
	// at most. Optional: without it each share has a query, in one union.
	Due string
	// Do carries out operations that change something, in one transaction. Optional: without it rows
	// are locked, and driver.Item decides.
	Do func(ctx context.Context, q Querier, namespace string, ops []driver.Op) ([]driver.Result, error)
}

// bind writes the parameters of a query as the database has them.
func (d *Dialect) bind(query string) string {
	if !d.Numbered {
		return query
	}
	var b strings.Builder
	n := 0
	for part := range strings.SplitSeq(query, "?") {
		if n > 0 {
			b.WriteString("$" + strconv.Itoa(n))
		}
		b.WriteString(part)
		n++
	}
	return b.String()
}

// listOf returns so many parameters.
func listOf(n int) string { return "(?" + strings.Repeat(", ?", n-1) + ")" }
