package redistest

import (
	"os"
	"time"

	"github.com/solotick/solotick/internal/skewtest"
)

// WithClock lets the test move the server's wall clock: see [Server.SetClock]. It needs a C
// compiler.
func WithClock() Option { return func(o *options) { o.clock = true } }

// SetClock puts the wall clock of a server that was started with [WithClock] so far ahead of the
// machine's, from now on and over restarts.
func (s *Server) SetClock(ahead time.Duration) {
	s.t.Helper()
	if s.clock == nil {
		s.t.Fatal("to set the clock of redis-server needs WithClock")
	}
	if err := s.clock.Set(ahead); err != nil {
		s.t.Fatalf("set the clock of redis-server: %v", err)
	}
}

// newClock makes what WithClock needs in the server's directory.
func (s *Server) newClock() {
	s.t.Helper()
	clock, err := skewtest.NewClock(s.dir)
	if err != nil {
		s.t.Fatalf("make the clock of redis-server: %v", err)
	}
	s.clock, s.env = clock, append(os.Environ(), clock.Env()...)
}
