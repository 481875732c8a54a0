package durations_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/durations"
)

func TestZeroUnitsAtTheEndAreLeftOut(t *testing.T) {
	for text, want := range map[string]string{
		"0s": "0s", "24h0m0s": "24h", "1h30m0s": "1h30m", "1m0s": "1m", "10m0s": "10m", "20h0m1s": "20h0m1s", "100ms": "100ms", "-1h0m0s": "-1h",
	} {
		d, err := time.ParseDuration(text)
		require.NoError(t, err)
		require.Equal(t, want, durations.Short(d))
	}
}
