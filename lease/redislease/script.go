package redislease

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// script is a Lua script.
type script struct {
	source, hash string
	id           any // the hash, as commands have it
}

var (
	//go:embed lua/clock.lua
	clockSource string
	//go:embed lua/note.lua
	noteSource string
	//go:embed lua/memory.lua
	memorySource string
	//go:embed lua/since.lua
	sinceSource string
	//go:embed lua/heartbeat.lua
	heartbeatSource string
	//go:embed lua/stay.lua
	staySource string
	//go:embed lua/members.lua
	membersSource string
	//go:embed lua/members_info.lua
	membersInfoSource string
	//go:embed lua/former.lua
	formerSource string
	//go:embed lua/names.lua
	namesSource string
	//go:embed lua/due.lua
	dueSource string

	noteScript      = newScript("#!lua", clockSource, noteSource)
	sinceScript     = newScript("#!lua flags=allow-oom", clockSource, memorySource, sinceSource)
	heartbeatScript = newScript("#!lua", clockSource, memorySource, formerSource, heartbeatSource)
	stayScript      = newScript("#!lua flags=allow-oom", clockSource, formerSource, staySource)
	membersScript   = newScript("#!lua flags=allow-oom", clockSource, formerSource, membersSource)

	membersInfoScript = newScript("#!lua flags=no-writes,allow-oom", membersInfoSource)
	namesScript       = newScript("#!lua flags=no-writes,allow-oom", namesSource)
	dueScript         = newScript("#!lua flags=no-writes,allow-oom", dueSource)

	scripts = []*script{
		growingScript, gracedScript, essentialScript, readScript, sinceScript,
		noteScript, heartbeatScript, stayScript, membersScript, membersInfoScript, namesScript, dueScript,
		nodeScript, nodeGrowsScript, takeScript,
		published.claim, published.release, published.force, sharded.claim, sharded.release, sharded.force,
		guardedLockClaimScript, lockRenewScript, lockViewScript,
	}
)

func newScript(head string, sources ...string) *script {
	s := &script{source: head + "\n" + strings.Join(sources, "")}
	sum := sha1.Sum([]byte(s.source)) // Redis names scripts by SHA-1
	s.hash = hex.EncodeToString(sum[:])
	s.id = s.hash
	return s
}

// command makes the call of s with the given keys; args are what the script calls ARGV.
func (s *script) command(ctx context.Context, keys []string, args ...any) *redis.Cmd {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, "evalsha", s.id, len(keys))
	for _, k := range keys {
		all = append(all, k)
	}
	all = append(all, args...)
	return newCommand(ctx, all)
}

// firstKey is where in a command its first key is.
const firstKey = 3

func newCommand(ctx context.Context, args []any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, args...)
	cmd.SetFirstKeyPos(firstKey)
	return cmd
}

// The same call as cmd, as a new command.
func again(ctx context.Context, cmd *redis.Cmd) *redis.Cmd { return newCommand(ctx, cmd.Args()) }

// withSource makes the same call, but sends the source.
func withSource(ctx context.Context, cmd *redis.Cmd) *redis.Cmd {
	args := append([]any(nil), cmd.Args()...)
	for _, s := range scripts {
		if args[1] == s.hash {
			args[0], args[1] = "eval", s.source
		}
	}
	return newCommand(ctx, args)
}

// arguments collects the arguments of a script as one text. It is used again for the next script,
// so that they cost no allocations.
type arguments struct {
	text  []byte
	list  []span
	parts []argument
	args  []any
}

// argument is a part of the text. go-redis takes a pointer to one, which needs no memory of its own.
type argument []byte

// MarshalBinary implements encoding.BinaryMarshaler.
func (a *argument) MarshalBinary() ([]byte, error) { return *a, nil }

// String is for hooks that show commands.
func (a *argument) String() string { return string(*a) }

// span is where an argument is in the text.
type span struct{ from, to int }

var argumentsPool = sync.Pool{New: func() any { return new(arguments) }}

func (a *arguments) add(s string) { a.join(s, "") }

func (a *arguments) bytes(b []byte) { a.set(a.reserve(), b) }

func (a *arguments) number(n int64) {
	from := len(a.text)
	a.text = strconv.AppendInt(a.text, n, 10)
	a.list = append(a.list, span{from, len(a.text)})
}

// digits adds a stamp or a time in microseconds, as lua/values.lua compares them.
func (a *arguments) digits(n int64) {
	from := len(a.text)
	a.text = appendDigits(a.text, n)
	a.list = append(a.list, span{from, len(a.text)})
}

// reserve adds an argument that is set later.
func (a *arguments) reserve() int {
	a.list = append(a.list, span{})
	return len(a.list) - 1
}

func (a *arguments) set(i int, b []byte) {
	from := len(a.text)
	a.text = append(a.text, b...)
	a.list[i] = span{from, len(a.text)}
}

// join adds two texts as one argument.
func (a *arguments) join(s, t string) {
	from := len(a.text)
	a.text = append(append(a.text, s...), t...)
	a.list = append(a.list, span{from, len(a.text)})
}

// command returns the call of a script, of whose arguments the first so many are keys. It is valid
// until free.
func (a *arguments) command(s *script, keys int) []any {
	a.parts = slices.Grow(a.parts[:0], len(a.list))
	a.args = append(a.args[:0], "evalsha", s.id, keys)
	for i, part := range a.list {
		a.parts = append(a.parts, a.text[part.from:part.to])
		a.args = append(a.args, &a.parts[i])
	}
	return a.args
}

// free gives the arguments back.
func (a *arguments) free() {
	if cap(a.text) <= maxKeptText {
		a.text, a.list = a.text[:0], a.list[:0]
		argumentsPool.Put(a)
	}
}

// maxKeptText bounds the memory of arguments that are used again.
const maxKeptText = 64 << 10

// appendDigits writes a number with at least 16 digits.
func appendDigits(b []byte, n int64) []byte {
	for least := int64(1e15); n < least && least > 1; least /= 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, n, 10)
}

func isNoScript(err error) bool { return strings.HasPrefix(err.Error(), "NOSCRIPT") }

// isRedirect shows that a server of a Cluster does not keep the key, or not any more, or not yet.
func isRedirect(err error) bool {
	s := err.Error()
	return strings.HasPrefix(s, "MOVED ") || strings.HasPrefix(s, "ASK ") || strings.HasPrefix(s, "TRYAGAIN ")
}

var errReply = errors.New("unexpected answer")

func number(v any) int64 { n, _ := v.(int64); return n }
func text(v any) string  { s, _ := v.(string); return s }

func numbers(fields []string) ([]int64, error) {
	n := make([]int64, len(fields))
	for i, f := range fields {
		var err error
		if n[i], err = strconv.ParseInt(f, 10, 64); err != nil {
			return nil, fmt.Errorf("%w: %q", errReply, f)
		}
	}
	return n, nil
}
