// Package sqlguard refuses stale fencing tokens in SQL databases: PostgreSQL, SQLite, and MySQL or MariaDB. It speaks
// database/sql and brings no driver. What fencing is, and its rules, is in package guard.
//
// # A table
//
// A [Table] has one row for each resource, with the newest token. [Table.Check] belongs into the transaction that writes,
// as its first statement:
//
//	tx, err := db.BeginTx(ctx, nil)
//	// …
//	if err := table.Check(ctx, tx, "account-7", run.Token); err != nil {
//		return err // errors.Is(err, guard.ErrStale): another holder has been here
//	}
//	// … tx.ExecContext(…), tx.Commit()
//
// Check locks the resource's row until the transaction ends. So the transactions of one resource commit in the order of
// their tokens, and none with a lower one commits after a higher. [Database.Do] is all of it in one call.
//
// A holder that freezes within the transaction keeps the lock, and the newer one waits for it. Keep such transactions short, and
// let the database end those whose client has gone silent: idle_in_transaction_session_timeout in PostgreSQL,
// idle_transaction_timeout in MariaDB, wait_timeout in MySQL. The context of Check bounds the wait.
//
// # A column
//
// Where the rows that are written have a key, a [Column] of them can keep the token instead. One statement compares,
// remembers and writes, so that no transaction is needed. Rows that are deleted take the token with them: if a stale
// holder may insert them again, use a table.
//
// # Isolation
//
// Both are right at every isolation level from READ COMMITTED up, because they rest on locks and not on what a transaction
// sees. What changes is how a conflict is told:
//
//   - PostgreSQL, READ COMMITTED (the default): Check waits for the transaction before it. At REPEATABLE READ and
//     SERIALIZABLE it may fail with SQLSTATE 40001 after it has waited. Roll back and do the transaction again.
//   - MySQL and MariaDB, REPEATABLE READ (the default): Check waits; transactions that insert a resource's first row at the
//     same time may fail with error 1213, a deadlock. Roll back and do the transaction again. The table has to be InnoDB, as
//     [Table.Schema] says.
//   - SQLite: one transaction writes at a time. Check writes, so as a transaction's first statement it waits for the others
//     as long as the driver's busy timeout says, and fails with SQLITE_BUSY after that: set it (PRAGMA busy_timeout). After
//     a read in the same transaction it fails at once where another has written since (SQLITE_BUSY_SNAPSHOT), whatever the
//     timeout: begin such transactions with BEGIN IMMEDIATE. In any case roll back and do the transaction again.
//
// Such an error is never a [guard.StaleError]: it says nothing about the token, and nothing was written.
//
// Ask the database that takes the writes, never a replica that reads. Where a failover may lose what was committed, it
// loses the tokens with the data.
//
// # Names
//
// Names of tables and columns are quoted, so any name will do, but it is taken as it is: PostgreSQL knows a table that was
// made as Account without quotes as account. A dot divides a schema from a table.
package sqlguard
