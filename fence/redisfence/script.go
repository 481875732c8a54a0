package redisfence

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/fence"
)

// defaultExpiry is for how long the newest token of a resource is remembered after the last write.
const defaultExpiry = 30 * 24 * time.Hour

//go:embed fence.lua
var fenceSource string

// Script is a Lua script that runs under the newest token only. It is safe for concurrent use.
type Script struct {
	script *redis.Script
	expiry time.Duration
}

// Option changes how [NewScript] and [NewCommands] fence.
type Option func(*options)

type options struct{ expiry time.Duration }

// WithExpiry sets for how long the newest token is remembered after the last write: whole
// milliseconds, 0 for ever. Have it longer than a process can be frozen.
func WithExpiry(d time.Duration) Option { return func(o *options) { o.expiry = d } }

// NewScript wraps a script. It sees its own KEYS and ARGV and returns what it returns. A first line
// of #! stays the first; without one the script is run as Redis 6 would. It is not parsed here:
// Redis reports its faults when it is run.
func NewScript(source string, opts ...Option) (*Script, error) {
	o := options{expiry: defaultExpiry}
	for i, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("redisfence: options[%d]: nil must be an option", i)
		}
		opt(&o)
	}
	if o.expiry < 0 || o.expiry%time.Millisecond != 0 {
		return nil, fmt.Errorf("redisfence: expiry %s: must be whole milliseconds, at least 0, which is for ever", o.expiry)
	}
	head := ""
	if strings.HasPrefix(source, "#!") {
		head, source, _ = strings.Cut(source, "\n")
		head += "\n"
	}
	wrapped := head + fenceSource + "return (function(KEYS, ARGV)\n" + source + "\nend)(keys, argv)\n"
	return &Script{script: redis.NewScript(wrapped), expiry: o.expiry}, nil
}

// Run runs the script with keys, of which the first is the resource, and args. If the resource has
// seen a higher token nothing is written, and the command's error is a [*fence.StaleError]. The
// script is sent by its hash, and in full to a server that does not have it. A client of a pipeline
// cannot be used, for that has no answer yet.
func (s *Script) Run(ctx context.Context, client redis.Scripter, token int64, keys []string, args ...any) *redis.Cmd {
	tokenKey, err := tokenKeyOf(keys, token)
	if err != nil {
		cmd := redis.NewCmd(ctx)
		cmd.SetErr(err)
		return cmd
	}
	allKeys := append(append(make([]string, 0, len(keys)+1), keys...), tokenKey)
	allArgs := append(append(make([]any, 0, len(args)+2), args...), token, s.expiry.Milliseconds())
	cmd := s.script.Run(ctx, client, allKeys, allArgs...)
	if newest, ok := staleReply(cmd.Err()); ok {
		cmd.SetErr(&fence.StaleError{Resource: keys[0], Token: token, Newest: newest})
	}
	return cmd
}

// staleReply reads the error that fence.lua returns.
func staleReply(err error) (newest int64, ok bool) {
	if err == nil {
		return 0, false
	}
	rest, ok := strings.CutPrefix(err.Error(), "SOLOTICKSTALE ") // elsewhere it is of a script's own error
	if !ok {
		return 0, false
	}
	number, _, _ := strings.Cut(rest, " ")
	newest, bad := strconv.ParseInt(number, 10, 64)
	return newest, bad == nil
}
