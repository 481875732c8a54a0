package main

import (
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/lease/pglease"
)

type postgresServer struct{ *pglease.Store }

func openPostgreSQL(url, namespace string, timeout time.Duration) (stores.Server, error) {
	s, err := pglease.Open(url, namespace, pglease.WithTimeout(timeout))
	return postgresServer{s}, err
}

// Examine checks what of PostgreSQL's settings a fleet depends on.
func (s postgresServer) Examine(ctx context.Context, _ bool) []doctor.Finding {
	facts, err := s.Facts(ctx)
	if err != nil {
		return []doctor.Finding{{Check: "version", Result: doctor.Fail, Finding: err.Error(), Change: s.Hint(err)}}
	}
	return postgresFindings(facts)
}

func postgresFindings(facts pglease.Facts) []doctor.Finding {
	version := doctor.Finding{Check: "version", Result: doctor.OK, Finding: "PostgreSQL " + facts.Version}
	if facts.TooOld {
		version.Result, version.Change = doctor.Fail, "use PostgreSQL 13 or a later one"
	}
	primary := doctor.Finding{Check: "primary", Result: doctor.OK, Finding: "the server accepts writes"}
	if facts.Standby {
		primary.Result, primary.Finding, primary.Change = doctor.Fail, "the server is a standby: nothing can be claimed there", "name the primary"
	}
	durable := doctor.Finding{Check: "durability", Result: doctor.OK, Finding: "each commit is on the disk"}
	switch {
	case !facts.Synchronous:
		durable.Result = doctor.Warn
		durable.Finding = "synchronous_commit is off: a server that crashes forgets what it has answered last, and ticks may run again"
		durable.Change = "set synchronous_commit to on for the user of the workers"
	case facts.Behind > 0:
		durable.Result = doctor.Warn
		durable.Finding = fmt.Sprintf("%d standbys need not have what was answered: after a failover to one, ticks may run again", facts.Behind)
		durable.Change = "set synchronous_standby_names"
	}
	woken := doctor.Finding{Check: "notifications", Result: doctor.OK, Finding: "LISTEN works"}
	if facts.Pooled {
		woken.Finding = "LISTEN does not work through this pooler: replicas look for notifications every 100 ms instead"
	}
	return []doctor.Finding{version, primary, durable, woken}
}
