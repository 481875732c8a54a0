package redistest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
)

const socketName = "redis.sock"

// Option changes how [Start] sets a server up.
type Option func(*options)

type options struct {
	lines    []string
	args     []string
	password string
	clock    bool
}

// WithAOF makes the server durable: each write is on disk before it is acknowledged, so
// [Server.Restart] brings everything back.
func WithAOF() Option {
	return func(o *options) {
		WithConf("appendonly", "yes")(o)
		WithConf("appendfsync", "always")(o)
	}
}

// WithConf adds a line to redis.conf, such as WithConf("maxmemory", "4mb") or WithConf("user",
// "alice", "on", ">secret", "~*", "+@all"). Each value is quoted, so it may hold any bytes. Later
// lines win over earlier ones, except for where the server listens and keeps its files, which this
// package decides.
func WithConf(key string, values ...string) Option {
	return func(o *options) {
		if strings.EqualFold(key, "requirepass") && len(values) == 1 {
			o.password = values[0]
		}
		o.lines = append(o.lines, line(key, values...))
	}
}

func collect(opts []Option) *options {
	o := &options{lines: []string{line("save", ""), line("appendonly", "no")}}
	for _, opt := range opts {
		opt(o)
	}
	return o
}

func (o *options) write(file, dir string, port int) error {
	lines := append([]string{}, o.lines...)
	lines = append(lines,
		line("user", admin, "on", ">"+admin, "~*", "&*", "+@all"),
		line("bind", host),
		line("port", strconv.Itoa(port)),
		line("dir", dir),
		line("unixsocket", socketName), // relative to dir
		line("daemonize", "no"),
		line("logfile", ""), // standard output, which launch catches together with what goes wrong before there is a log
	)
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600)
}

func line(key string, values ...string) string {
	var b strings.Builder
	b.WriteString(key)
	for _, v := range values {
		b.WriteString(" " + quote(v))
	}
	return b.String()
}

// quote writes s as redis.conf reads it. Its escapes are not quite those of Go.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// freePort returns a port below those that the kernel hands out to outgoing connections. While a
// server is killed, one of them could take its port. A client that dials it again and again could
// even connect to itself.
func freePort(t testing.TB) int {
	t.Helper()
	const lowest, past = 10000, 32768
	for range 100 {
		port := lowest + rand.IntN(past-lowest)
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			t.Fatalf("give port %d back: %v", port, err)
		}
		return port
	}
	t.Fatalf("no free port on %s: 100 between %d and %d are taken", host, lowest, past)
	return 0
}
