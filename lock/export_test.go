package lock

// Kept returns how much s remembers of waiters, of their queues, and of those that watch.
func (s *Locks) Kept() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiters) + len(s.gates) + len(s.watches)
}

// Holds returns how many holds s knows of.
func (s *Locks) Holds() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.holds)
}
