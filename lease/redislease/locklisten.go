package redislease

import (
	"context"
	"strings"
)

func (s *Store) lineChannel() string { return "solotick:" + s.namespace + ":line" }

// Listen implements [lease.Locker].
func (s *Store) Listen(ctx context.Context, wake func(name string, requests []string)) error {
	return s.subscribe(ctx, s.lineChannel(), "listen", func(message string) {
		name, requests, _ := strings.Cut(message, " ")
		wake(name, strings.Fields(requests))
	})
}
