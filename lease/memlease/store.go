// Package memlease keeps leases in this process: for tests, examples, and a replica that is alone.
package memlease

import (
	"cmp"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
)

// Store is a lease.Store in memory. The zero value is ready for use, in the namespace "default";
// see [New] for one with a name. It is safe for concurrent use, and its clock is the process's,
// unless [Store.Step] moves it.
type Store struct {
	store
	namespace string // "" is protocol.DefaultNamespace
}

// store has the verbs.
type store = engine.Session

// New makes a store whose fleet has a name: it is part of every tick's identity. It matches the
// pattern of a name. What is in one Store no other Store sees, whatever their namespaces.
func New(namespace string) (*Store, error) {
	if !protocol.ValidName(namespace) {
		return nil, fmt.Errorf("memlease: namespace %q %s", namespace, protocol.NameRule)
	}
	return &Store{namespace: namespace}, nil
}

// Namespace implements [protocol.Store].
func (s *Store) Namespace() string { return cmp.Or(s.namespace, protocol.DefaultNamespace) }

// Forget drops everything, as an emptied Redis would.
func (s *Store) Forget() { s.Memory().Forget() }

// Step moves the store's clock by d against the process's, as somebody who sets the clock of a
// Redis server's machine does.
func (s *Store) Step(d time.Duration) { s.Memory().Step(d) }
