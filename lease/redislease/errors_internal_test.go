package redislease

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

// The first is of Redis 7.0, the second of Valkey 8.0.
func TestARightThatAScriptLacksIsPermanent(t *testing.T) {
	for _, text := range []string{
		"ERR The user executing the script can't run this command or subcommand script: 6cc2ad8a, on @user_script:10.",
		"ERR ACL failure in script: User reader has no permissions to run the 'time' command script: 6cc2ad8a, on @user_script:10.",
	} {
		err := errors.New(text)
		require.ErrorIs(t, classified(err), protocol.ErrPermanent)
		require.Contains(t, Hint(err), "let the user of Redis do")
	}
}
