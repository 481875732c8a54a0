// Package sqlfence refuses stale fencing tokens in SQL databases: PostgreSQL, SQLite, and MySQL or
// MariaDB. It uses database/sql and imports no driver. Package fence explains fencing and its
// rules.
//
// # A table
//
// A [Table] has one row for each resource, with the newest token. [Table.Check] is the first
// statement of the transaction that writes:
//
//	tx, err := db.BeginTx(ctx, nil)
//	// …
//	if err := table.Check(ctx, tx, "account-7", run.Token); err != nil {
//		return err // errors.Is(err, fence.ErrStale): another holder has been here
//	}
//	// … tx.ExecContext(…), tx.Commit()
//
// Check locks the resource's row until the transaction ends. So the transactions of one resource
// commit in the order of their tokens, and none with a lower one commits after a higher.
// [Database.Do] does all of this in one call.
//
// A holder that freezes within the transaction keeps the lock, and the newer one waits for it. Keep
// such transactions short, and let the database end transactions of a client that is silent:
// idle_in_transaction_session_timeout in PostgreSQL, idle_transaction_timeout in MariaDB,
// wait_timeout in MySQL. The context of Check bounds the wait.
//
// # A column
//
// Where the written rows have a key, a [Column] of them can store the token instead. One statement
// compares, remembers and writes, so that no transaction is needed. A deleted row loses its token:
// if a stale holder can insert the row again, use a table.
//
// # Isolation
//
// Both are correct at every isolation level from READ COMMITTED up, because they use locks and not
// what a transaction sees. The level decides how a conflict shows:
//
//   - PostgreSQL, READ COMMITTED (the default): Check waits for the transaction before it. At
//     REPEATABLE READ and SERIALIZABLE it may fail with SQLSTATE 40001 after it has waited. Roll
//     back and retry the transaction.
//   - MySQL and MariaDB, REPEATABLE READ (the default): Check waits. Transactions that insert a
//     resource's first row at the same time may fail with error 1213, a deadlock. Roll back and
//     retry the transaction. The table has to be InnoDB, as [Table.Schema] says.
//   - SQLite: one transaction writes at a time. Check writes, so as a transaction's first statement
//     it waits for the others. It fails with SQLITE_BUSY after the driver's busy timeout: set it
//     (PRAGMA busy_timeout). After a read in the same transaction it fails at once where another
//     has written since (SQLITE_BUSY_SNAPSHOT), whatever the timeout: begin such transactions with
//     BEGIN IMMEDIATE. In any case roll back and do the transaction again.
//
// Such an error is never a [fence.StaleError]: it is not about the token, and nothing was written.
//
// Use the database that accepts writes, never a read-only replica. A failover that can lose
// committed data loses the tokens with it.
//
// # Names
//
// Names of tables and columns are quoted, so any name is valid, exactly as written. PostgreSQL
// stores a table that was created as Account without quotes as account. A dot separates a schema
// from a table.
package sqlfence
