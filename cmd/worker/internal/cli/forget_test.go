package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfirmAgreesToYesOnly(t *testing.T) {
	for answer, agrees := range map[string]bool{"y\n": true, " Yes\n": true, "yes": true, "n\n": false, "\n": false, "": false, "yesterday\n": false} {
		var out strings.Builder
		ok, err := confirm(t.Context(), strings.NewReader(answer), &out, "Remove it?")
		require.NoError(t, err)
		require.Equal(t, agrees, ok, "%q", answer)
		require.Equal(t, "Remove it? [y/N] ", out.String())
	}
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	in, answer := io.Pipe()
	defer func() { _ = answer.Close() }()
	_, err := confirm(ctx, in, io.Discard, "Remove it?")
	require.ErrorIs(t, err, interrupted)
}
