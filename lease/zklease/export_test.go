package zklease

import (
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/solotick/solotick/internal/casstore"
)

// Step moves the clock of the leader, as a store sees it, by d.
func (s *Store) Step(d time.Duration) {
	c := &s.medium.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead, c.asked = c.ahead+d, 0
}

// Sessions counts the sessions that have ended.
func (s *Store) Sessions() uint64 { return s.medium.link.present() }

// Mzxid returns that part of a revision.
func Mzxid(revision uint64) uint64 { return mzxidOf(revision) }

// Medium returns the medium of the store.
func (s *Store) Medium() casstore.Medium { return s.medium }

// Node returns the path of a value, whose store has been used.
func (s *Store) Node(key string) string { return s.medium.present.valuePath(key) }

// Use has the store take conn for its connection, and for one that answers.
func (s *Store) Use(conn *zk.Conn) {
	l := s.medium.link
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn, l.up, l.stop = conn, true, func() {}
}
