package sqlitelease

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	// most is how many calls share a transaction.
	most = 64
	// longest is how long a transaction may take. A process that was frozen in one does not commit
	// what it decided then.
	longest = 2 * time.Second
)

// lane carries out calls in transactions on a connection of its own: all that come while one is
// under way share the next. A call returns when its context ends, whatever the file, its disk or
// another process does meanwhile.
type lane struct {
	file  *file
	begin string // how a transaction begins

	mu      sync.Mutex
	pending []*call
	runs    bool      // a goroutine takes pending work
	waits   time.Time // since when it has waited for a lock of another process; zero when it does not

	session session // of that goroutine
}

type call struct {
	ctx    context.Context
	do     func(*tx) error
	answer chan error
	late   bool      // its context ended before it was carried out
	waited time.Time // the lane's waits when run dropped it; guarded by lane.mu
}

// do calls f within a transaction, perhaps more than once: what the last call did counts. After an
// error f may be called still, so it leaves what it has to say in variables that are read only when
// do returns nil.
func (l *lane) do(ctx context.Context, f func(*tx) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, l.file.timeout, errTimeout)
	defer cancel()
	c := &call{ctx: ctx, do: f, answer: make(chan error, 1)}
	if ctx.Err() != nil {
		return l.file.failed(context.Cause(ctx))
	}
	l.mu.Lock()
	l.pending = append(l.pending, c)
	if !l.runs {
		if err := l.file.work(l.run); err != nil {
			l.pending = nil
			l.mu.Unlock()
			return l.file.failed(err)
		}
		l.runs = true
	}
	l.mu.Unlock()
	select {
	case err := <-c.answer:
		return l.file.failed(err)
	case <-ctx.Done():
		return l.gone(c)
	}
}

// gone takes a call back whose context has ended.
func (l *lane) gone(c *call) error {
	l.mu.Lock()
	l.pending = slices.DeleteFunc(l.pending, func(other *call) bool { return other == c })
	waits := l.waits
	if waits.IsZero() { // run came first, and may have had nothing left to wait for
		waits = c.waited
	}
	l.mu.Unlock()
	cause := context.Cause(c.ctx)
	if !waits.IsZero() {
		cause = fmt.Errorf("%w for %s%s: %w", errLocked, time.Since(waits).Round(time.Millisecond), lockHolder(l.file.path), cause)
	}
	return l.file.failed(cause)
}

// run carries out pending work until there is none.
func (l *lane) run() {
	for tries := 0; ; tries++ {
		l.mu.Lock()
		l.pending = slices.DeleteFunc(l.pending, func(c *call) bool {
			c.waited = l.waits
			return c.ctx.Err() != nil
		})
		if len(l.pending) == 0 {
			l.runs, l.pending, l.waits = false, nil, time.Time{}
			l.mu.Unlock()
			return
		}
		batch := slices.Clone(l.pending[:min(len(l.pending), most)])
		l.mu.Unlock()

		err := l.attempt(batch)
		if isBusy(err) { // of the other calls meanwhile some may join
			l.mu.Lock()
			if l.waits.IsZero() {
				l.waits = time.Now()
			}
			l.mu.Unlock()
			time.Sleep(time.Duration(rand.Int64N(int64(min(1+tries, 10)) * int64(time.Millisecond))))
			continue
		}
		tries = 0
		l.mu.Lock()
		l.waits = time.Time{}
		l.pending = slices.DeleteFunc(l.pending, func(c *call) bool { return slices.Contains(batch, c) })
		l.mu.Unlock()
		for _, c := range batch {
			switch {
			case c.late:
				c.answer <- context.Cause(c.ctx)
			case err != nil && len(batch) > 1: // one of them failed, and holds up no other
				c.answer <- l.attempt([]*call{c})
			default:
				c.answer <- err
			}
		}
	}
}

// attempt carries out calls in one transaction. After an error none of them has changed anything,
// as far as is known.
func (l *lane) attempt(batch []*call) error {
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
		if c.late = c.ctx.Err() != nil; err == nil && !c.late {
			err = c.do(t)
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
