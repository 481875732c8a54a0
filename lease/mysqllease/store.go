// Package mysqllease keeps leases in tables of MySQL 8 or later, or of MariaDB 10.6 or later.
//
// The tables are InnoDB's; the first call makes them. Any number of processes on any number of
// machines may share them. The clock of the store is that of the server, which has to be the
// primary. A change is a short transaction that locks the rows which it names. A process that is
// stopped within one, or cut off, holds up calls for the same names until the server closes its
// connection, for at most [Held].
//
// What a server that loses power forgets is up to its setting innodb_flush_log_at_trx_commit, and
// what a replica that is promoted has not received is up to its replication.
package mysqllease

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/solotick/solotick/internal/sqlstore"
	"github.com/solotick/solotick/internal/storekit"
)

// Held is how long the server waits for the next statement of a transaction, and so for how long a
// process that was stopped within one holds up others. It is a whole number of seconds.
const Held = 2 * time.Second

// Store is a lease.Store in MySQL or MariaDB. It is safe for concurrent use. Close it when it is no
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

// Open makes a store of the namespace in a database, by a URL such as
// mysql://user:password@host:3306/name. What follows a ? in it are parameters of go-sql-driver, such
// as tls=true. It does not connect: the first call does, and makes the tables when there are none.
// The namespace names the fleet, and matches the pattern of a name.
func Open(url, namespace string, opts ...Option) (*Store, error) {
	c, err := parse(url)
	if err != nil {
		return nil, err
	}
	return New(c, namespace, opts...)
}

// New is [Open] with a configuration of go-sql-driver, which it copies. It sets in the copy what the
// store depends on: time zone, SQL mode, timeouts, and how parameters and affected rows are passed.
func New(config *mysql.Config, namespace string, opts ...Option) (*Store, error) {
	o := options{timeout: time.Second}
	faults := storekit.Apply("mysqllease", &o, opts)
	if config == nil || config.DBName == "" {
		return nil, errors.Join(append(faults, errors.New("mysqllease: config: must name a database"))...)
	}
	db, place, err := connections(config, o.timeout)
	if err != nil {
		return nil, errors.Join(append(faults, err)...)
	}
	s, err := sqlstore.New(&dialect, sqlstore.Config{DB: db, Owned: true, Place: place, Namespace: namespace, Timeout: o.timeout})
	if err := errors.Join(append(faults, err)...); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Store{s, db}, nil
}

// connections returns a pool, which has not connected yet, and the place that it leads to.
func connections(config *mysql.Config, timeout time.Duration) (db *sql.DB, place string, err error) {
	c := config.Clone()
	c.ClientFoundRows, c.InterpolateParams, c.MultiStatements, c.RejectReadOnly = true, true, true, false
	c.Timeout, c.ReadTimeout, c.WriteTimeout = timeout, timeout, timeout
	c.Logger = &mysql.NopLogger{} // callers get the errors
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	held := strconv.Itoa(int(Held / time.Second))
	maps.Copy(c.Params, map[string]string{
		"time_zone": "'+00:00'", "sql_mode": "'STRICT_ALL_TABLES'", "wait_timeout": held, "net_read_timeout": held, "net_write_timeout": held, "innodb_lock_wait_timeout": "1", "autocommit": "1",
	})
	made, err := mysql.NewConnector(c)
	if err != nil {
		return nil, "", errors.New("mysqllease: config: go-sql-driver cannot use it") // the cause may show a password
	}
	db = sql.OpenDB(connector{made})
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(8)
	db.SetConnMaxIdleTime(Held / 2)         // before the server closes it
	db.SetConnMaxLifetime(30 * time.Second) // so that it follows a name that leads to another server
	return db, fmt.Sprintf("%s/%s", cmp.Or(c.Addr, "127.0.0.1:3306"), c.DBName), nil
}

// errURL shows no part of the URL: any part can belong to a password that is not escaped.
var errURL = errors.New("mysqllease: url: must be such as mysql://user:password@host:3306/name, and what follows a ? in it parameters of go-sql-driver")

// parse reads a URL whose scheme is mysql or mariadb.
func parse(text string) (*mysql.Config, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "mysql" && u.Scheme != "mariadb" || u.Hostname() == "" || len(u.Path) < 2 || u.Fragment != "" || strings.Contains(u.Path[1:], "/") {
		return nil, errURL
	}
	addr := u.Host
	if u.Port() == "" {
		addr = u.Host + ":3306"
	}
	c, err := mysql.ParseDSN("tcp(" + addr + ")/" + url.PathEscape(u.Path[1:]) + "?" + u.RawQuery)
	if err != nil {
		return nil, errURL
	}
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	return c, nil
}
