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
	//go:embed lua/record.lua
	recordSource string
	//go:embed lua/claim_fast.lua
	claimFastSource string
	//go:embed lua/claim.lua
	claimSource string
	//go:embed lua/renew.lua
	renewSource string
	//go:embed lua/settle_fast.lua
	settleFastSource string
	//go:embed lua/settle.lua
	settleSource string
	//go:embed lua/pass.lua
	passSource string
	//go:embed lua/sync.lua
	syncSource string
	//go:embed lua/time.lua
	timeSource string
	//go:embed lua/inspect.lua
	inspectSource string
	//go:embed lua/pause.lua
	pauseSource string
	//go:embed lua/resume.lua
	resumeSource string
	//go:embed lua/cancel.lua
	cancelSource string
	//go:embed lua/repair.lua
	repairSource string
	//go:embed lua/trigger.lua
	triggerSource string
	//go:embed lua/note.lua
	noteSource string
	//go:embed lua/noted.lua
	notedSource string
	//go:embed lua/announce.lua
	announceSource string
	//go:embed lua/members.lua
	membersSource string
	//go:embed lua/append.lua
	appendSource string
	//go:embed lua/notes.lua
	notesSource string
	//go:embed lua/former.lua
	formerSource string

	// What has to work when Redis is out of memory is allowed to; a claim is refused before it has written anything.
	claimScript    = newScript("#!lua", claimFastSource, recordSource, claimSource)
	renewScript    = newScript("#!lua flags=allow-oom", recordSource, renewSource)
	settleScript   = newScript("#!lua flags=allow-oom", settleFastSource, recordSource, settleSource)
	passScript     = newScript("#!lua flags=allow-oom", recordSource, passSource)
	syncScript     = newScript("#!lua", recordSource, syncSource)
	timeScript     = newScript("#!lua flags=allow-oom", recordSource, timeSource)
	inspectScript  = newScript("#!lua flags=no-writes,allow-oom", recordSource, inspectSource)
	pauseScript    = newScript("#!lua flags=allow-oom", recordSource, pauseSource)
	resumeScript   = newScript("#!lua flags=allow-oom", recordSource, resumeSource)
	cancelScript   = newScript("#!lua flags=allow-oom", recordSource, cancelSource)
	repairScript   = newScript("#!lua flags=allow-oom", recordSource, repairSource)
	triggerScript  = newScript("#!lua", recordSource, triggerSource)
	noteScript     = newScript("#!lua", recordSource, noteSource)
	notedScript    = newScript("#!lua flags=no-writes,allow-oom", recordSource, notedSource)
	announceScript = newScript("#!lua", recordSource, formerSource, announceSource)
	membersScript  = newScript("#!lua flags=allow-oom", recordSource, formerSource, membersSource)

	appendScript = newScript("#!lua", recordSource, appendSource)
	notesScript  = newScript("#!lua flags=no-writes,allow-oom", notesSource)

	scripts = []*script{
		claimScript, guardedClaimScript, guardedLockClaimScript, renewScript, settleScript, passScript, syncScript, timeScript, inspectScript,
		pauseScript, resumeScript, cancelScript, repairScript, triggerScript, noteScript, notedScript, announceScript, membersScript,
		appendScript, notesScript, setPutScript, setKeepScript, setGetScript, summaryScript,
		membersKnownScript, membersInfoScript,
		nodeScript, nodeGrowsScript,
		published.claim, published.release, published.force, sharded.claim, sharded.release, sharded.force,
		lockRenewScript, lockViewScript,
		growingScript, gracedScript, essentialScript, readScript, sinceScript,
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

// anew makes the same call.
func anew(ctx context.Context, cmd *redis.Cmd) *redis.Cmd { return newCommand(ctx, cmd.Args()) }

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

// isRedirect tells that a server of a Cluster does not keep the key, or not any more, or not yet.
func isRedirect(err error) bool {
	s := err.Error()
	return strings.HasPrefix(s, "MOVED ") || strings.HasPrefix(s, "ASK ") || strings.HasPrefix(s, "TRYAGAIN ")
}
