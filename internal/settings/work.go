package settings

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
)

// The kinds of job hold text that may have come from the environment: a token in a header, a
// password in a command. So they print as a summary that has none of it, whether fmt, log/slog or
// encoding/json asks.

// Exec is a job that runs a program.
type Exec struct {
	Command   []string          // the program, which is not empty, and its arguments; no shell is involved
	Dir       string            // where it runs; "" means the worker's own directory
	Env       map[string]string // added to the worker's own environment; nil when there is none
	KillGrace time.Duration     // between SIGTERM and SIGKILL; 0 or more
}

// HTTP is a job that sends a request.
type HTTP struct {
	Method  string            // upper case
	URL     string            // absolute, http or https
	Headers map[string]string // names as written, no two equal but for case; nil when there is none
	Body    string
	Success []StatusRange // never empty
	Timeout time.Duration // of one request, above 0
}

// StatusRange is the HTTP status codes from From to To, both included; 100 to 599.
type StatusRange struct{ From, To int }

// RedisStream is a job that adds an entry to a stream of the Redis where the fleet meets. That one
// is configured is not checked here, since a flag may do that.
type RedisStream struct {
	Stream string            // the stream's key, which is not empty
	MaxLen int64             // about how many entries to keep; 0 keeps all
	Fields map[string]string // added to each entry, under other names than those set for each; may be nil
}

// Log is a job that writes a line to the worker's log.
type Log struct {
	Message string // not blank
}

// String says what kind of job it is and which variables it sets, not what to.
func (e Exec) String() string {
	return fmt.Sprintf("exec of %d words, env [%s]", len(e.Command), names(e.Env))
}

// Format prints String, whatever the verb.
func (e Exec) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, e.String()) }

// LogValue returns String.
func (e Exec) LogValue() slog.Value { return slog.StringValue(e.String()) }

// MarshalText returns String.
func (e Exec) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// String says what kind of job it is, the scheme of its URL and which headers it sets, not what to.
// Paths are left out too: those of many web hooks are credentials.
func (h HTTP) String() string {
	scheme := "unknown scheme"
	if u, err := url.Parse(h.URL); err == nil {
		scheme = u.Scheme
	}
	return fmt.Sprintf("http %s over %s, headers [%s]", h.Method, scheme, names(h.Headers))
}

// Format prints String, whatever the verb.
func (h HTTP) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, h.String()) }

// LogValue returns String.
func (h HTTP) LogValue() slog.Value { return slog.StringValue(h.String()) }

// MarshalText returns String.
func (h HTTP) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// String says what kind of job it is and which fields it adds, not what they hold.
func (r RedisStream) String() string {
	return fmt.Sprintf("redis_stream, fields [%s]", names(r.Fields))
}

// Format prints String, whatever the verb.
func (r RedisStream) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// LogValue returns String.
func (r RedisStream) LogValue() slog.Value { return slog.StringValue(r.String()) }

// MarshalText returns String.
func (r RedisStream) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// String says what kind of job it is and how long its message.
func (l Log) String() string { return fmt.Sprintf("log of %d bytes", len(l.Message)) }

// Format prints String, whatever the verb.
func (l Log) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, l.String()) }

// LogValue returns String.
func (l Log) LogValue() slog.Value { return slog.StringValue(l.String()) }

// MarshalText returns String.
func (l Log) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

func names(m map[string]string) string {
	return strings.Join(slices.Sorted(maps.Keys(m)), " ")
}
