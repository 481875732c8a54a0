package natslease

import "time"

// Step moves the clock of the servers, as this store sees it.
func (s *Store) Step(d time.Duration) { s.medium.step.Add(int64(d)) }

// ShortenMarkers has messages that a key was removed kept for a second.
func ShortenMarkers() { markerLife = time.Second }

// Saw has the store think that the bucket had a sequence, which it is to compare with at the next call.
func (s *Store) Saw(sequence uint64) {
	s.medium.seen(0, sequence)
	s.medium.looked.Store(0)
}
