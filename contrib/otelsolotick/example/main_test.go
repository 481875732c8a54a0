package main

import (
	"bytes"
	"context"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBothAttemptsAreInOneTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		var out bytes.Buffer
		require.NoError(t, run(ctx, &out))
		spans := regexp.MustCompile(`trace (\w+) span (\w+) parent (\w+): (.*)`).FindAllStringSubmatch(out.String(), -1)
		require.Len(t, spans, 4, &out)
		for i, want := range []string{"call the warehouse Unset ", "run report Error the warehouse is busy", "call the warehouse Unset ", "run report Unset "} {
			require.Equal(t, want, spans[i][4])
			require.Equal(t, spans[0][1], spans[i][1], "the trace of the tick")
		}
		require.Equal(t, spans[1][2], spans[0][3], "the call belongs to its attempt")
		require.Equal(t, spans[3][2], spans[2][3])
	})
}
