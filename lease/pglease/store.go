// Package pglease keeps leases in tables of PostgreSQL 13 or later.
//
// The first call makes the tables, and a function that carries out changes, in the schema that comes
// first in the search path. Any number of processes on any number of machines may share them. The
// clock of the store is that of the server, which has to be the primary. A change is one statement:
// a process that is stopped or cut off holds no lock. So connections may pass through a pooler that
// gives each transaction another one; there, replicas look for notifications ten times a second
// or more, and are notified by LISTEN elsewhere.
//
// What a failover to an asynchronous standby forgets may run again.
package pglease

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/solotick/solotick/internal/sqlstore"
	"github.com/solotick/solotick/internal/storekit"
)

// Store is a lease.Store in PostgreSQL. It is safe for concurrent use. Close it when it is no
// longer used.
type Store struct {
	*store
	db *sql.DB
}

// store has the verbs.
type store = sqlstore.Store

type options struct{ timeout time.Duration }

// Option changes a default of [New] and [Open].
type Option func(*options)

// WithTimeout bounds each call. The default is 1 s; at least 10 ms. Choose it well below the
// shortest TTL.
func WithTimeout(d time.Duration) Option { return func(o *options) { o.timeout = d } }

// New makes a store of the namespace in a database of which db has connections by pgx, as those of
// stdlib.OpenDBFromPool: at least three of them, and with a connect timeout, for database/sql waits
// for a server that says nothing without end. Close leaves db open. The first call connects, and makes the tables when
// there are none. The namespace names the fleet, and matches the pattern of a name.
func New(db *sql.DB, namespace string, opts ...Option) (*Store, error) {
	o, faults := optionsOf(opts)
	return open(db, false, "the database", namespace, o, faults)
}

// Open is New with connections of its own to a database, by a URL such as
// postgres://user:password@host/name, or another text that pgx reads. Without a connect_timeout in
// it the hosts that it names share the timeout of a call.
func Open(url, namespace string, opts ...Option) (*Store, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		if cause := errors.Unwrap(err); cause != nil && cause.Error() == "sslmode is invalid" {
			return nil, errors.New("pglease: url: sslmode must be disable, allow, prefer, require, verify-ca or verify-full")
		}
		return nil, errors.New("pglease: url: pgx cannot read it; write one such as postgres://user:password@host/name") // the cause may show a password
	}
	if c.ValidateConnect == nil {
		c.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	if !strings.Contains(url, "default_query_exec_mode") {
		c.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	o, faults := optionsOf(opts)
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = o.timeout / time.Duration(hosts(c))
	}
	db := sql.OpenDB(connector{stdlib.GetConnector(*c)})
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(8)
	db.SetConnMaxIdleTime(time.Minute)
	s, err := open(db, true, fmt.Sprintf("%s:%d/%s", c.Host, c.Port, cmp.Or(c.Database, c.User)), namespace, o, faults)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

// hosts returns how many a connection is tried with, one after the other: one that says nothing is
// to leave the others time.
func hosts(c *pgx.ConnConfig) int {
	all := map[string]bool{fmt.Sprint(c.Host, c.Port): true}
	for _, f := range c.Fallbacks {
		all[fmt.Sprint(f.Host, f.Port)] = true
	}
	return len(all)
}

func optionsOf(opts []Option) (o options, faults []error) {
	o.timeout = time.Second
	return o, storekit.Apply("pglease", &o, opts)
}

func open(db *sql.DB, owned bool, place, namespace string, o options, faults []error) (*Store, error) {
	s, err := sqlstore.New(&dialect, sqlstore.Config{DB: db, Owned: owned, Place: place, Namespace: namespace, Timeout: o.timeout})
	if err := errors.Join(append(faults, err)...); err != nil {
		return nil, err
	}
	return &Store{s, db}, nil
}
