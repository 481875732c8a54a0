package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
)

// checkServers checks a store at servers other than Redis, and writes nothing there.
func checkServers(ctx context.Context, s *stores.Store) []Finding {
	began := time.Now()
	if _, _, err := s.Time(ctx); err != nil {
		return []Finding{{Check: "reachable", Result: Fail, Finding: err.Error(), Change: s.Advice(err)}}
	}
	found := []Finding{{Check: "reachable", Result: OK, Finding: fmt.Sprintf("%s answers in %s", s.Addr, time.Since(began).Round(10*time.Microsecond))}}
	facts, err := s.Servers.Facts(ctx)
	if err != nil {
		return append(found, Finding{Check: "servers", Result: Fail, Finding: err.Error(), Change: s.Advice(err)})
	}
	for _, fact := range facts {
		f := Finding{Check: fact.Check, Result: OK, Finding: fact.Finding, Change: fact.Change}
		switch {
		case fact.Fails:
			f.Result = Fail
		case fact.Change != "":
			f.Result = Warn
		}
		found = append(found, f)
	}
	return append(found, clockOf(ctx, s, "the store"))
}
