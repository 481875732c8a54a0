package redislease

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

var (
	//go:embed lua/set_put.lua
	setPutSource string
	//go:embed lua/set_keep.lua
	setKeepSource string
	//go:embed lua/set_get.lua
	setGetSource string

	setPutScript  = newScript("#!lua", setPutSource)
	setKeepScript = newScript("#!lua flags=allow-oom", setKeepSource)
	setGetScript  = newScript("#!lua flags=no-writes,allow-oom", setGetSource)
)

// setKey is of a string, which expires.
func (s *store) setKey(digest string) string { return s.fleetKey(":set:" + digest) }

func (s *store) setKeys(digests []string) []string {
	keys := make([]string, len(digests))
	for i, d := range digests {
		keys[i] = s.setKey(d)
	}
	return keys
}

// PutSet implements [protocol.Store].
func (s *store) PutSet(ctx context.Context, set []byte, life time.Duration) error {
	if err := protocol.CheckSet(set, life); err != nil {
		return err
	}
	digest := protocol.SetDigest(set)
	if _, err := s.router.do(ctx, setPutScript.command(ctx, []string{s.setKey(digest)}, set, life.Milliseconds())); err != nil {
		return fmt.Errorf("put set %s: %w", digest, err)
	}
	return nil
}

// KeepSets implements [protocol.Store].
func (s *store) KeepSets(ctx context.Context, digests []string, life time.Duration) ([]bool, error) {
	if err := protocol.CheckDigests(digests, life); err != nil || len(digests) == 0 {
		return nil, err
	}
	cmd, err := s.router.do(ctx, setKeepScript.command(ctx, s.setKeys(digests), life.Milliseconds()))
	r, err := readNumbers(cmd, err, len(digests))
	if err != nil {
		return nil, fmt.Errorf("keep sets: %w", err)
	}
	kept := make([]bool, len(digests))
	for i, n := range r {
		kept[i] = n == 1
	}
	return kept, nil
}

// GetSets implements [protocol.Store].
func (s *store) GetSets(ctx context.Context, digests []string) ([][]byte, error) {
	if err := protocol.CheckDigests(digests, time.Hour); err != nil || len(digests) == 0 {
		return nil, err
	}
	cmd, err := s.router.do(ctx, setGetScript.command(ctx, s.setKeys(digests)))
	var r []any
	if err == nil {
		r, err = cmd.Slice()
	}
	if err == nil && len(r) != len(digests) {
		err = fmt.Errorf("%w: %d answers for %d sets", errReply, len(r), len(digests))
	}
	if err != nil {
		return nil, fmt.Errorf("get sets: %w", err)
	}
	sets := make([][]byte, len(digests))
	for i, v := range r {
		if v != nil {
			sets[i] = []byte(text(v))
		}
	}
	return sets, nil
}
