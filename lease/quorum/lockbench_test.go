package quorum_test

import (
	"testing"

	"github.com/solotick/solotick/lease/quorum"
	"github.com/solotick/solotick/lock"
)

// Each pair is an acquisition of a free mutex and its release, on three servers.
func BenchmarkMutex(b *testing.B) {
	for name, opts := range map[string][]lock.Option{"any": nil, "fair": {lock.WithFairness()}} {
		b.Run(name, func(b *testing.B) {
			s := lock.New(openRedis(b, startServers(b, 3)))
			b.Cleanup(s.Close)
			m := s.Mutex("l", opts...)
			b.ReportAllocs()
			for b.Loop() {
				h, err := m.Acquire(b.Context())
				if err == nil {
					err = h.Release(b.Context())
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A fair mutex goes to and fro between two processes, each of which waits for it while the other
// has it: from one grant to the next.
func BenchmarkHandOver(b *testing.B) {
	servers := startServers(b, 3)
	granted := make(chan *lock.Hold)
	done := make(chan struct{})
	for range 2 {
		s := lock.New(openRedis(b, servers, quorum.WithFreshStart()))
		b.Cleanup(s.Close)
		go func() {
			for {
				h, err := s.Mutex("l", lock.WithFairness()).Acquire(b.Context())
				if err != nil {
					return
				}
				select {
				case granted <- h:
				case <-done:
					return
				}
			}
		}()
	}
	defer close(done)
	for b.Loop() {
		if err := (<-granted).Release(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
