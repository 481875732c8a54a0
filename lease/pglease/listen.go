package pglease

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// channel is that of NOTIFY. Its payloads are namespaces: what has happened is in the table.
const channel = "solotick"

// listen calls wake with the payload of each notification, on a connection of its own.
func listen(ctx context.Context, db *sql.DB, wake func(payload string)) error {
	return onConn(ctx, db, func(c *pgx.Conn) error {
		if _, err := c.Exec(ctx, "LISTEN "+channel); err != nil {
			return err
		}
		for {
			n, err := c.WaitForNotification(ctx)
			if err != nil {
				return err
			}
			wake(n.Payload)
		}
	})
}

var errOther = errors.New("pglease: db: its connections are not those of pgx")

// onConn calls f with a connection that is closed then: it listens.
func onConn(ctx context.Context, db *sql.DB, f func(*pgx.Conn) error) (err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.Raw(func(driverConn any) error {
		c, ok := driverConn.(*stdlib.Conn)
		if !ok {
			err = errOther
			return nil
		}
		err = f(c.Conn())
		_ = c.Conn().Close(context.WithoutCancel(ctx))
		return nil
	})
	return err
}

// pooled reports whether connections pass through a pooler that gives each transaction another one:
// nothing arrives at a connection that listens there.
func (s *Store) pooled(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	mine := "probe-" + rand.Text()
	arrived := make(chan struct{}, 1)
	var listens sync.WaitGroup
	listens.Go(func() {
		_ = listen(ctx, s.db, func(payload string) {
			if payload == mine {
				select {
				case arrived <- struct{}{}:
				default:
				}
			}
		}) // what fails is that nothing arrives
	})
	defer func() { cancel(); listens.Wait() }()
	for range 10 {
		if _, err := s.db.ExecContext(ctx, "SELECT pg_notify($1, $2)", channel, mine); err != nil {
			return false, err
		}
		select {
		case <-arrived:
			return false, nil
		case <-time.After(100 * time.Millisecond):
		}
	}
	return true, nil
}
