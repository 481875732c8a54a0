package stores

import (
	"testing"
	"time"

	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/redislease"
)

// kit is a store, and where the suite gets servers for it.
type kit struct {
	name   string            // in the head of the table
	cannot map[string]string // the faults that cannot be brought about, each with the reason
	start  func(t testing.TB) *server
	// replicated gets servers of which one takes the place of another, and successor says which, for
	// the table. Without it they are those of start.
	replicated func(t testing.TB) *server
	successor  string
	// lasting gets servers that keep what they have when all of them are killed. Without it they are
	// those of start.
	lasting func(t testing.TB) *server
	// coldRestore says that all replicas have to be stopped while a backup is restored.
	coldRestore bool
	short       bool // all of its servers are killed in the short form, too
	// open opens the store of one replica, or of the test.
	open func(addrs []string, namespace string) (lease.Store, error)
}

// failingOver gets the servers of a failover.
func (k *kit) failingOver() func(t testing.TB) *server {
	if k.replicated != nil {
		return k.replicated
	}
	return k.start
}

// server lists what the suite does to the server of a store, or to one of its servers. What the
// kit says cannot be done is nil.
type server struct {
	addrs []string // host:port, before which each replica has a proxy; or a path

	settle        func() // waits until all servers are in their places after the last scene; nil where none moves
	freeze, thaw  func()
	kill, restart func()
	empty         func() // all servers
	backup        func()
	restore       func()
	failOver      func(before func()) // before is called when the present server is cut off from the next one
	stepClock     func(ahead time.Duration)

	all power // over all servers; that over one where there is one

	requests func() float64 // what it has been asked so far, as it counts that; nil where it does not
}

// whole is power over all servers.
func (s *server) whole() power {
	if s.all.kill != nil {
		return s.all
	}
	return power{s.freeze, s.thaw, s.kill, s.restart}
}

// kits are the stores of the table, in the order of its columns.
var kits = []kit{
	memory, sqliteFile, redisPlain, redisDurable, failingOver("Redis with a replica"),
	failingOver("Redis, wait_replicas: 1", redislease.WithReplicas(1)), redisSentinel, redisCluster, redisQuorum,
	postgreSQL, mariaDB, etcd, natsJetStream, zooKeeper,
}
