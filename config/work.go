package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/solotick/solotick/jobs/exec"
	"github.com/solotick/solotick/jobs/http"
)

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

// summary is what is shown of a value. Of a kind of work it has which names are set, not to what:
// that may have come from the environment, and the path of a URL may be a credential.
func summary(v any) string {
	names := func(m map[string]string) string { return strings.Join(slices.Sorted(maps.Keys(m)), " ") }
	switch v := v.(type) {
	case exec.Command:
		return fmt.Sprintf("exec of %d words, env [%s]", len(v.Args), names(v.Env))
	case http.Call:
		scheme := "unknown scheme"
		if u, err := url.Parse(v.URL); err == nil {
			scheme = u.Scheme
		}
		return fmt.Sprintf("http %s over %s, headers [%s]", v.Method, scheme, names(v.Headers))
	case RedisStream:
		return fmt.Sprintf("redis_stream, fields [%s]", names(v.Fields))
	case Log:
		return fmt.Sprintf("log of %d bytes", len(v.Message))
	default:
		return Hidden
	}
}
