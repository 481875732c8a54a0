package pglease

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

var errOld = errors.New("this PostgreSQL is older than 13")

// code returns the SQLSTATE of an error, "" where it has none.
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// again: a deadlock, a serialization failure, or another was quicker to make the same row, table or
// function.
func again(err error) bool {
	return slices.Contains([]string{"40P01", "40001", "23505", "42P07", "42710", "42723"}, code(err))
}

// missing: a schema, a table or a function is not there.
func missing(err error) bool { return slices.Contains([]string{"42P01", "42883"}, code(err)) }

const (
	primary = "name the primary in the URL, or all servers with target_session_attrs=read-write: postgres://host-1,host-2/database?target_session_attrs=read-write"
	pooled  = "a pooler gives each transaction another connection: let pgx prepare no statements there, by default_query_exec_mode=exec"
	runs    = "check that PostgreSQL runs, and its address in the URL"
)

// hints are what to change, by the SQLSTATE or its class; permanent ones stay until somebody does.
var hints = []struct {
	code      string
	permanent bool
	hint      string
}{
	{"26000", false, pooled},
	{"42P05", false, pooled},
	{"25006", false, "the server is a standby, or read-only: " + primary},
	{"28", true, "check the user and the password in the URL"},
	{"3D000", true, "create the database, or name another in the URL"},
	{"3F000", true, "create the schema that search_path names"},
	{"42501", true, "let the user use and create tables in its schema: GRANT USAGE, CREATE ON SCHEMA ... TO ...; and read and write those that begin with solotick_"},
	{"53100", false, "make room on the disk of the server"},
	{"53300", false, "raise max_connections of the server, or put a pooler before it: each worker has up to 8 connections"},
	{"55P03", false, "end the session that has rows of solotick_item locked: see pg_stat_activity and pg_blocking_pids"},
	{"57P03", false, "wait: the server starts, or recovers"},
	{"57", false, runs},
	{"08", false, runs},
	{"42", true, "undo the change of the tables, or stop all processes and drop the tables that begin with solotick_"},
	{"XX001", true, "restore a backup: data of the server is damaged"},
}

func advice(err error) (hint string, permanent bool) {
	state := code(err)
	if state == "08P01" { // which poolers say
		switch text := err.Error(); {
		case strings.Contains(text, "statement pooling mode"):
			return "let the pooler give each transaction a connection: pool_mode = transaction", true
		case strings.Contains(text, "unsupported startup parameter"):
			return "the pooler passes no such setting on: leave it out of the URL, and set it with ALTER ROLE ... SET, such as search_path", true
		}
	}
	for _, h := range hints {
		if state != "" && strings.HasPrefix(state, h.code) {
			return h.hint, h.permanent
		}
	}
	_, dns := errors.AsType[*net.DNSError](err)
	_, connect := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, errOld):
		return "upgrade PostgreSQL to 13 or later", true
	case err != nil && strings.Contains(err.Error(), "read only connection"):
		return "the server is a standby, or read-only: " + primary, false
	case err != nil && strings.Contains(err.Error(), "tls error"):
		return "check sslmode and sslrootcert in the URL: TLS with the server fails", false
	case dns:
		return "check the host in the URL", false
	case connect, errors.Is(err, context.DeadlineExceeded), network:
		return runs + "; and the network between", false
	}
	return "", false
}
