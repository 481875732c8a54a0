package doctor

import (
	"context"

	"github.com/solotick/solotick/lease/mysqllease"
)

// checkMySQL checks what of MySQL's or MariaDB's settings a fleet depends on.
func checkMySQL(ctx context.Context, s *mysqllease.Store) []Finding {
	facts, err := s.Facts(ctx)
	if err != nil {
		return []Finding{{Check: "version", Result: Fail, Finding: err.Error(), Change: s.Hint(err)}}
	}
	return mysqlFindings(facts)
}

func mysqlFindings(facts mysqllease.Facts) []Finding {
	version := Finding{Check: "version", Result: OK, Finding: facts.Version}
	if facts.TooOld {
		version.Result, version.Change = Fail, "use MySQL 8, MariaDB 10.6, or a later one"
	}
	primary := Finding{Check: "primary", Result: OK, Finding: "the server accepts writes"}
	if facts.ReadOnly {
		primary.Result, primary.Finding, primary.Change = Fail, "the server is read-only", "name the primary"
	}
	durable := Finding{Check: "durability", Result: OK, Finding: "each commit is on the disk"}
	if !facts.Durable {
		durable.Result, durable.Finding = Warn, "innodb_flush_log_at_trx_commit is not 1, or sync_binlog is not 1: a server that loses power forgets what it has answered last, and ticks may run again"
		durable.Change = "set innodb_flush_log_at_trx_commit to 1, and sync_binlog where there is a binary log"
	}
	return []Finding{version, primary, durable}
}
