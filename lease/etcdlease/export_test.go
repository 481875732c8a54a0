package etcdlease

import (
	"context"
	"net/http"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

// Step moves the clocks of the members by d, as far as this store can see.
func (s *Store) Step(d time.Duration) {
	c := &s.medium.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
	c.Step(d)
}

// Values is what the session of a store keeps its values in.
func (s *Store) Values() driver.Store { return s.store.Values() }

// FirstTime returns what the first call of a store makes of the members' times.
func FirstTime(ctx context.Context, urls ...string) (time.Time, error) {
	c := clock{urls: urls}
	c.init(&http.Transport{}, 20*time.Second)
	defer c.close()
	return c.now(ctx)
}

// Parse reads a URL.
var Parse = parse

// Adopt takes over what another store knows of the members' clocks.
func (s *Store) Adopt(from *Store) *Store {
	s.medium.clock.Adopt(&from.medium.clock.Clock)
	return s
}
