package doctor

import (
	"context"
	"fmt"

	"github.com/solotick/solotick/lease/pglease"
)

// checkPostgreSQL checks what of PostgreSQL's settings a fleet depends on.
func checkPostgreSQL(ctx context.Context, s *pglease.Store) []Finding {
	facts, err := s.Facts(ctx)
	if err != nil {
		return []Finding{{Check: "version", Result: Fail, Finding: err.Error(), Change: s.Hint(err)}}
	}
	return postgresFindings(facts)
}

func postgresFindings(facts pglease.Facts) []Finding {
	version := Finding{Check: "version", Result: OK, Finding: "PostgreSQL " + facts.Version}
	if facts.TooOld {
		version.Result, version.Change = Fail, "use PostgreSQL 13 or a later one"
	}
	primary := Finding{Check: "primary", Result: OK, Finding: "the server accepts writes"}
	if facts.Standby {
		primary.Result, primary.Finding, primary.Change = Fail, "the server is a standby: nothing can be claimed there", "name the primary"
	}
	durable := Finding{Check: "durability", Result: OK, Finding: "each commit is on the disk"}
	switch {
	case !facts.Synchronous:
		durable.Result = Warn
		durable.Finding = "synchronous_commit is off: a server that crashes forgets what it has answered last, and ticks may run again"
		durable.Change = "set synchronous_commit to on for the user of the workers"
	case facts.Behind > 0:
		durable.Result = Warn
		durable.Finding = fmt.Sprintf("%d standbys need not have what was answered: after a failover to one, ticks may run again", facts.Behind)
		durable.Change = "set synchronous_standby_names"
	}
	woken := Finding{Check: "notifications", Result: OK, Finding: "LISTEN works"}
	if facts.Pooled {
		woken.Finding = "LISTEN does not work through this pooler: replicas look for notifications every 100 ms instead"
	}
	return []Finding{version, primary, durable, woken}
}
