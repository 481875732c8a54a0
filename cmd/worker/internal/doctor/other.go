package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
)

// Examiner is a store that checks the settings of its servers. If begun is false, no worker has used
// the namespace yet, and what the first one makes, such as a bucket, does not exist.
type Examiner interface {
	Examine(ctx context.Context, begun bool) []Finding
}

// checkOther checks a file, or a server other than Redis, without writing to it.
func checkOther(ctx context.Context, s *stores.Store) []Finding {
	_, _, err := s.Time(ctx) // makes the connection
	began := time.Now()
	if err == nil {
		_, _, err = s.Time(ctx)
	}
	if err != nil {
		return []Finding{failed("reachable", s, err)}
	}
	found := []Finding{{Check: "reachable", Result: OK, Finding: fmt.Sprintf("%s answers in %s", s.Addr, time.Since(began).Round(10*time.Microsecond))}}
	if s.File != nil {
		return append(found, checkFile(s)...)
	}
	return append(append(found, checkSettings(ctx, s, true)...), checkClock(ctx, s, "the store"))
}

// checkSettings checks the servers of a store.
func checkSettings(ctx context.Context, s *stores.Store, begun bool) []Finding {
	if store, ok := s.Checker.(Examiner); ok {
		return store.Examine(ctx, begun)
	}
	return nil
}
