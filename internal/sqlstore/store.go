package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/lane"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/storekit"
	"github.com/solotick/solotick/lease/driver"
)

// Config has the parts of a store.
type Config struct {
	DB        *sql.DB
	Owned     bool   // Close closes the database
	Place     string // of the database, for errors; without a password
	Namespace string
	Timeout   time.Duration // of each call
}

// Store is a lease.Store in a database. It is safe for concurrent use.
type Store struct {
	*engine.Session
	db *database
}

// database is one, as the calls of a namespace see it. It is a [driver.Store].
type database struct {
	*Dialect
	Config
	reads, writes *lane.Lane[[]driver.Op, []driver.Result]

	ready  sync.Mutex
	tables bool // they are there, and as this release made them

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
	swept   time.Time

	waker waker

	tx     *sql.Tx   // of the caller, in which everything is done; nil for none
	parent *database // of a database with a tx; it knows of the tables
}

// New makes a store. It does not connect yet.
func New(d *Dialect, c Config) (*Store, error) {
	var faults []error
	if c.DB == nil {
		faults = append(faults, fmt.Errorf("%s: db: nil must be a database", d.Package))
	}
	faults = append(faults, storekit.CheckTimeout(d.Package, c.Timeout))
	db := &database{Dialect: d, Config: c, waker: waker{sooner: make(chan struct{}, 1)}}
	db.reads, db.writes = db.lane(2), db.lane(4)
	s, err := engine.NewSession(db, c.Namespace, engine.Options{
		Hint:    func(err error) string { hint, _ := db.advice(err); return hint },
		Waiting: db.waker.expect,
	})
	if err != nil {
		faults = append(faults, fmt.Errorf("%s: %w", d.Package, err))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return &Store{s, db}, nil
}

// InTx returns the store as it is in a transaction of the caller's, on the same database and schema.
// What is changed in it takes effect when the transaction is committed, and never when that is rolled
// back. Only schedules use it: see On in package schedules. Others who change the same keys wait until the
// transaction ends, so it must be short. After an error it can only be rolled back. Nothing else may use
// the transaction during a call.
func (s *Store) InTx(tx *sql.Tx) protocol.Store {
	in := &database{Dialect: s.db.Dialect, Config: s.db.Config, tx: tx, parent: s.db}
	session, _ := engine.NewSession(in, s.db.Namespace, engine.Options{Hint: s.Hint}) // the namespace is a valid one
	return session
}

// from returns the transaction of the caller, or else the database: values are read from it.
func (db *database) from() Querier {
	if db.tx != nil {
		return db.tx
	}
	return db.DB
}

// callInTx calls f in the transaction of the caller, once the tables are there. Only ctx bounds it.
func (db *database) callInTx(ctx context.Context, f func(ctx context.Context) error) error {
	err := db.parent.call(ctx, func(context.Context) error { return nil })
	if err == nil {
		err = db.failed(f(ctx))
	}
	return protocol.Permanent(err) // the transaction may have failed for good
}

// Values returns the driver.Store under the session.
func (s *Store) Values() driver.Store { return s.db }

// Close waits for the calls under way, and closes the database if it is the store's own. Calls fail
// with [ErrClosed] from then on.
func (s *Store) Close() error {
	s.db.mu.Lock()
	s.db.closed = true
	s.db.mu.Unlock()
	s.db.waker.end()
	s.db.reads.Close()
	s.db.writes.Close()
	s.db.running.Wait()
	if s.db.Owned {
		_ = s.db.DB.Close() // it says goodbye to the server, which may be away
	}
	return nil
}

// Exists reports whether anything has run in the namespace. It makes nothing.
func (s *Store) Exists(ctx context.Context) (exists bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.db.Timeout, errTimeout)
	defer cancel()
	version, err := s.db.version(ctx, s.db.DB, "")
	if err == nil && version > 0 {
		var one int
		err = s.db.each(ctx, s.db.DB, "SELECT 1 FROM solotick_item WHERE namespace = ? LIMIT 1", []any{s.db.Namespace}, []any{&one}, func() error { exists = true; return nil })
	}
	if err != nil {
		err = protocol.Ended(context.Cause(ctx), err)
	}
	return exists, s.db.failed(err)
}

// enter has Close wait for db.running.Done, unless the store is closed.
func (db *database) enter() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.closed {
		return ErrClosed
	}
	db.running.Add(1)
	return nil
}

// Querier is a database, one of its connections, or a transaction.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func (db *database) exec(ctx context.Context, q Querier, query string, args ...any) error {
	_, err := q.ExecContext(ctx, db.bind(query), args...)
	return err
}

// one reads one row into the pointers of to, and reports whether there is one.
func (db *database) one(ctx context.Context, q Querier, query string, to ...any) (found bool, err error) {
	err = db.each(ctx, q, query, nil, to, func() error { found = true; return nil })
	return found, err
}

// each calls f with each row in the pointers of to.
func (db *database) each(ctx context.Context, q Querier, query string, args, to []any, f func() error) error {
	rows, err := q.QueryContext(ctx, db.bind(query), args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		if err := f(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// within calls f in a transaction.
func (db *database) within(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := db.DB.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	if db.Begin != "" {
		_, err = tx.ExecContext(ctx, db.Begin)
	}
	if err == nil {
		err = f(tx)
	}
	if err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}
