package sqlitelease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/lane"
)

// longest is how long a transaction may take. A process that was frozen in one does not commit what
// it decided then.
const longest = 2 * time.Second

// transactions carries out calls in transactions on a connection of its own, one after the other. A
// call returns when its context ends, whatever the file, its disk or another process does.
type transactions struct {
	lane  lane.Lane[*call, struct{}]
	file  *file
	begin string // how a transaction begins

	mu    sync.Mutex
	waits time.Time // since when it has waited for a lock of another process; zero when it does not

	// Of the goroutine that sends:
	session session
	tries   int
}

type call struct {
	do     func(*tx) error
	waited time.Time // the waits when it was sent last; guarded by transactions.mu
}

func newTransactions(f *file, begin string) *transactions {
	l := &transactions{file: f, begin: begin}
	l.lane.AtOnce, l.lane.Split, l.lane.Send = 1, true, l.send
	l.lane.Idle = func() { l.note(nil, false) }
	return l
}

// do calls f within a transaction, perhaps more than once: what the last call did counts. After an
// error f may be called still, so it leaves what it has to say in variables that are read only when
// do returns nil.
func (l *transactions) do(ctx context.Context, f func(*tx) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.file.timeout, errTimeout)
	defer cancel()
	c := &call{do: f}
	_, err := l.lane.Do(ctx, c)
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, cause) {
		err = l.gone(c, cause)
	}
	return l.file.failed(err)
}

// gone returns why a call was given up whose context has ended.
func (l *transactions) gone(c *call, cause error) error {
	l.mu.Lock()
	waits := l.waits
	if waits.IsZero() { // its batch was dropped, and nothing is left to wait for
		waits = c.waited
	}
	l.mu.Unlock()
	if waits.IsZero() {
		return cause
	}
	return fmt.Errorf("%w for %s%s: %w", errLocked, time.Since(waits).Round(time.Millisecond), lockHolder(l.file.path), cause)
}

// send carries out a batch. While another process has the lock, further calls may join.
func (l *transactions) send(batch []*lane.Call[*call, struct{}]) error {
	err := l.attempt(batch)
	busy := isBusy(err)
	l.note(batch, busy)
	if !busy {
		l.tries = 0
		return err
	}
	l.tries++
	time.Sleep(time.Duration(rand.Int64N(int64(min(l.tries, 10)) * int64(time.Millisecond))))
	return lane.ErrAgain
}

// note notes whether a batch waits for a lock.
func (l *transactions) note(batch []*lane.Call[*call, struct{}], busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !busy:
		l.waits = time.Time{}
	case l.waits.IsZero():
		l.waits = time.Now()
	}
	for _, c := range batch {
		c.Request.waited = l.waits
	}
}

// attempt carries out calls in one transaction. After an error none of them has changed anything,
// as far as is known.
func (l *transactions) attempt(batch []*lane.Call[*call, struct{}]) error {
	db, err := l.file.open()
	if err != nil {
		return err
	}
	if err := l.session.on(db); err != nil {
		return err
	}
	t := &tx{session: &l.session}
	if l.begin == beginRead { // the values read are at least as new as the time
		t.now = l.file.now()
	}
	if err := t.exec(l.begin); err != nil {
		return err
	}
	if l.begin == beginWrite {
		t.now = l.file.now()
	}
	began := time.Now()
	for _, c := range batch {
		if c.Err = c.Ended(); err == nil && c.Err == nil {
			err = c.Request.do(t)
		}
	}
	if err == nil && l.begin == beginWrite && time.Since(began) > longest {
		err = errSlow
	}
	if err == nil {
		err = t.exec("COMMIT")
	}
	if err != nil {
		if rollback := t.exec("ROLLBACK"); rollback != nil {
			l.session.close()
		}
		return err
	}
	if l.begin == beginWrite {
		if err := l.file.confirm(); err != nil {
			return err
		}
	}
	if err := l.file.unmoved(); err != nil {
		return err
	}
	if t.published {
		l.file.publish()
	}
	return nil
}

const (
	beginRead  = "BEGIN"
	beginWrite = "BEGIN IMMEDIATE"
)

// session is a connection with its statements.
type session struct {
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

// on makes it one of that database.
func (s *session) on(db *sql.DB) error {
	if s.db == db && s.conn != nil {
		return nil
	}
	s.close()
	conn, err := db.Conn(context.Background())
	if err != nil {
		return err
	}
	*s = session{db, conn, map[string]*sql.Stmt{}}
	return nil
}

func (s *session) close() {
	if s.conn != nil {
		for _, stmt := range s.stmts {
			_ = stmt.Close()
		}
		_ = s.conn.Close()
	}
	*s = session{}
}

// tx is a transaction.
type tx struct {
	*session
	now       time.Time // the store's, while the transaction holds its lock
	published bool
	free      *bool // there is room on the disk; nil until somebody asks
}

func (t *tx) exec(query string, args ...any) error {
	stmt, err := t.prepared(query)
	if err == nil {
		_, err = stmt.ExecContext(context.Background(), args...)
	}
	return err
}

// one reads one row into the pointers of to, and reports whether there is one.
func (t *tx) one(query string, args []any, to ...any) (found bool, err error) {
	err = t.each(query, args, to, func() { found = true })
	return found, err
}

// each calls f with each row in the pointers of to.
func (t *tx) each(query string, args, to []any, f func()) error {
	stmt, err := t.prepared(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(context.Background(), args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := rows.Scan(to...); err != nil {
			return err
		}
		f()
	}
	return rows.Err()
}

func (t *tx) prepared(query string) (*sql.Stmt, error) {
	if stmt := t.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := t.conn.PrepareContext(context.Background(), query)
	if err == nil {
		t.stmts[query] = stmt
	}
	return stmt, err
}
