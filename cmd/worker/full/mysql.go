package main

import (
	"context"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/lease/mysqllease"
)

type mysqlServer struct{ *mysqllease.Store }

func openMySQL(url, namespace string, timeout time.Duration) (stores.Server, error) {
	s, err := mysqllease.Open(url, namespace, mysqllease.WithTimeout(timeout))
	return mysqlServer{s}, err
}

// Examine checks what of MySQL's or MariaDB's settings a fleet depends on.
func (s mysqlServer) Examine(ctx context.Context, _ bool) []doctor.Finding {
	facts, err := s.Facts(ctx)
	if err != nil {
		return []doctor.Finding{{Check: "version", Result: doctor.Fail, Finding: err.Error(), Change: s.Hint(err)}}
	}
	return mysqlFindings(facts)
}

func mysqlFindings(facts mysqllease.Facts) []doctor.Finding {
	version := doctor.Finding{Check: "version", Result: doctor.OK, Finding: facts.Version}
	if facts.TooOld {
		version.Result, version.Change = doctor.Fail, "use MySQL 8, MariaDB 10.6, or a later one"
	}
	primary := doctor.Finding{Check: "primary", Result: doctor.OK, Finding: "the server accepts writes"}
	if facts.ReadOnly {
		primary.Result, primary.Finding, primary.Change = doctor.Fail, "the server is read-only", "name the primary"
	}
	durable := doctor.Finding{Check: "durability", Result: doctor.OK, Finding: "each commit is on the disk"}
	if !facts.Durable {
		durable.Result, durable.Finding = doctor.Warn, "innodb_flush_log_at_trx_commit is not 1, or sync_binlog is not 1: a server that loses power forgets what it has answered last, and ticks may run again"
		durable.Change = "set innodb_flush_log_at_trx_commit to 1, and sync_binlog where there is a binary log"
	}
	return []doctor.Finding{version, primary, durable}
}
