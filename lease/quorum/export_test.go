package quorum

import "github.com/solotick/solotick/lease/driver"

// EndQuarantine counts the nodes as they are, as if they had remembered for a TTL.
func EndQuarantine(s *Store) {
	n := s.values.nodes
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range n.about {
		n.about[i].trusted = memory(n.about[i].id, n.about[i].since)
	}
}

// Idle waits until no node is at work for s: slow ones may get a call after the answer.
func Idle(s *Store) { s.values.sent.Wait() }

// Values returns the store of values below s.
func Values(s *Store) driver.Store { return s.values }
