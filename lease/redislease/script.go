package redislease

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"strings"

	"github.com/redis/go-redis/v9"
)

// script is a Lua script with what is shared by all of them in front.
type script struct {
	source, hash string
}

var (
	//go:embed lua/record.lua
	recordSource string
	//go:embed lua/claim.lua
	claimSource string
	//go:embed lua/renew.lua
	renewSource string
	//go:embed lua/settle.lua
	settleSource string
	//go:embed lua/pass.lua
	passSource string
	//go:embed lua/sync.lua
	syncSource string
	//go:embed lua/time.lua
	timeSource string

	// What has to work when Redis is out of memory is allowed to; a claim is refused before it has written anything.
	claimScript  = newScript("#!lua", claimSource)
	renewScript  = newScript("#!lua flags=allow-oom", renewSource)
	settleScript = newScript("#!lua flags=allow-oom", settleSource)
	passScript   = newScript("#!lua flags=allow-oom", passSource)
	syncScript   = newScript("#!lua", syncSource)
	timeScript   = newScript("#!lua flags=allow-oom", timeSource)
)

func newScript(head, source string) *script {
	s := &script{source: head + "\n" + recordSource + source}
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
	cmd := redis.NewCmd(ctx, all...)
	cmd.SetFirstKeyPos(3)
	return cmd
}

// withSource makes the same call, but sends the source.
func withSource(ctx context.Context, cmd *redis.Cmd) *redis.Cmd {
	args := append([]any(nil), cmd.Args()...)
	for _, s := range []*script{claimScript, renewScript, settleScript, passScript, syncScript, timeScript} {
		if args[1] == s.hash {
			args[0], args[1] = "eval", s.source
		}
	}
	again := redis.NewCmd(ctx, args...)
	again.SetFirstKeyPos(3)
	return again
}

func isNoScript(err error) bool {
	return err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT")
}
