package pglease

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
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
	changed = "undo the change of the tables, or stop all processes and drop the tables that begin with solotick_"
	unknown = "correct what follows the ? in the URL: a setting that pgx does not know is sent to the server, which does not know it either, or not that value"
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
	{"42704", true, unknown},
	{"22023", true, unknown},
	{"42703", true, changed},
	{"42804", true, changed},
	{"42809", true, changed},
	{"42P10", true, changed},
	{"42", true, "see the log of the server: it does not take what this release sends; check that it is PostgreSQL 13 or later"},
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
	case errors.As(err, new(x509.UnknownAuthorityError)), errors.As(err, new(x509.HostnameError)), errors.As(err, new(*tls.CertificateVerificationError)):
		return "check sslrootcert in the URL: it has to hold the authority of the server's certificate, and that the host of the URL", true
	case err != nil && strings.Contains(err.Error(), "server refused TLS"):
		return "set up TLS on the server, or sslmode=disable in the URL", true
	case err != nil && (strings.Contains(err.Error(), odd) || strings.Contains(err.Error(), "unknown message type")):
		return "check the port in the URL: what answers there is no PostgreSQL", true
	case dns:
		return "check the host in the URL", false
	case err != nil && strings.Contains(err.Error(), "tls error") && !network:
		return "check sslmode and sslrootcert in the URL: TLS with the server fails", false
	case connect, errors.Is(err, context.DeadlineExceeded), network:
		return runs + "; and the network between", false
	}
	return "", false
}

// connector makes connections, whose errors say once what is wrong.
type connector struct{ driver.Connector }

// Connect implements [driver.Connector].
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		err = unconnected{err, exact(err)}
	}
	return conn, err
}

type unconnected struct {
	error
	text string
}

func (e unconnected) Error() string { return e.text }
func (e unconnected) Unwrap() error { return e.error }

// odd is what an answer is that pgx does not expect.
const odd = "an answer that is not PostgreSQL's"

// exact returns what pgx says of a failed connection, without what it has tried besides: with
// sslmode=prefer it tries TLS before, and says that first.
func exact(err error) string {
	text := strings.ReplaceAll(err.Error(), "%!w(<nil>)", odd)
	var said []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "failed to connect to") {
			said = append(said, line)
		}
	}
	cause := func(line string) string { // without the address, and what was tried
		_, rest, _ := strings.Cut(line, "): ")
		_, rest, _ = strings.Cut(rest, ": ")
		return rest
	}
	var list []string
	for i, line := range said {
		host, _, _ := strings.Cut(line, "): ")
		again := slices.ContainsFunc(said[i+1:], func(other string) bool {
			return strings.HasPrefix(other, host) && (cause(other) == cause(line) || strings.Contains(line, "server refused TLS"))
		})
		if !again {
			list = append(list, line)
		}
	}
	if len(list) == 0 {
		return text
	}
	return "connect: " + strings.Join(list, "; ")
}
