package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
)

// Examiner is a store that checks what of its servers a fleet depends on. What begins with the first
// worker, such as a bucket, is there when something has begun in the namespace.
type Examiner interface {
	Examine(ctx context.Context, begun bool) []Finding
}

// checkOther checks a store on a server other than Redis, and writes nothing there.
func checkOther(ctx context.Context, s *stores.Store) []Finding {
	_, _, err := s.Time(ctx) // makes the connection
	began := time.Now()
	if err == nil {
		_, _, err = s.Time(ctx)
	}
	if err != nil {
		return []Finding{{Check: "reachable", Result: Fail, Finding: err.Error(), Change: s.Advice(err)}}
	}
	found := []Finding{{Check: "reachable", Result: OK, Finding: fmt.Sprintf("%s answers in %s", s.Addr, time.Since(began).Round(10*time.Microsecond))}}
	return append(append(found, checkSettings(ctx, s, true)...), checkClock(ctx, s, "the store"))
}

// checkSettings checks the servers of a store.
func checkSettings(ctx context.Context, s *stores.Store, begun bool) []Finding {
	if store, ok := s.Checker.(Examiner); ok {
		return store.Examine(ctx, begun)
	}
	return nil
}
