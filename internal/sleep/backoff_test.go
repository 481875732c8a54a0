package sleep_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/sleep"
)

func TestBackoffDoublesUpToItsBound(t *testing.T) {
	const least, most = 25 * time.Millisecond, 180 * time.Millisecond
	for failures, want := range map[int]time.Duration{0: least, 1: 2 * least, 2: 4 * least, 3: most, 1 << 30: most} {
		for range 100 {
			d := sleep.Backoff(failures, least, most)
			require.GreaterOrEqual(t, d, want/2, failures)
			require.LessOrEqual(t, d, want, failures)
			require.LessOrEqual(t, sleep.Scatter(failures, least, most), want, failures)
		}
	}
	require.LessOrEqual(t, sleep.Backoff(0, time.Second, time.Millisecond), time.Millisecond, "the bound wins")
}
