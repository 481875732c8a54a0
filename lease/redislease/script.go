package redislease

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"strings"

	"github.com/redis/go-redis/v9"
)

// script is a Lua script.
type script struct {
	source, hash string
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

	noteScript      = newScript("#!lua", clockSource, noteSource)
	sinceScript     = newScript("#!lua flags=allow-oom", clockSource, memorySource, sinceSource)
	heartbeatScript = newScript("#!lua", clockSource, memorySource, formerSource, heartbeatSource)
	stayScript      = newScript("#!lua flags=allow-oom", clockSource, formerSource, staySource)
	membersScript   = newScript("#!lua flags=allow-oom", clockSource, formerSource, membersSource)

	membersInfoScript = newScript("#!lua flags=no-writes,allow-oom", membersInfoSource)

	scripts = []*script{
		growingScript, gracedScript, essentialScript, readScript, sinceScript,
		noteScript, heartbeatScript, stayScript, membersScript, membersInfoScript,
		nodeScript, nodeGrowsScript, takeScript,
		published.claim, published.release, published.force, sharded.claim, sharded.release, sharded.force,
		guardedLockClaimScript, lockRenewScript, lockViewScript,
	}
)

func newScript(head string, sources ...string) *script {
	s := &script{source: head + "\n" + strings.Join(sources, "")}
	sum := sha1.Sum([]byte(s.source)) // Redis names scripts by SHA-1
	s.hash = hex.EncodeToString(sum[:])
	return s
}

// command makes the call of s with the given keys; args are what the script calls ARGV.
func (s *script) command(ctx context.Context, keys []string, args ...any) *redis.Cmd {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, "evalsha", s.hash, len(keys))
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

func isNoScript(err error) bool { return strings.HasPrefix(err.Error(), "NOSCRIPT") }

// isRedirect shows that a server of a Cluster does not keep the key, or not any more, or not yet.
func isRedirect(err error) bool {
	s := err.Error()
	return strings.HasPrefix(s, "MOVED ") || strings.HasPrefix(s, "ASK ") || strings.HasPrefix(s, "TRYAGAIN ")
}
