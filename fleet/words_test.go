package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDurationsAreRoundedForReaders(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "200ms": 200 * time.Millisecond, "1.235s": 1234567 * time.Microsecond, "12.3s": 12345 * time.Millisecond,
		"1m": time.Minute, "1h": time.Hour, "1h0m1s": time.Hour + time.Second, "10h0m5s": 10*time.Hour + 5*time.Second,
		"47h": 47 * time.Hour, "3d4h": 76 * time.Hour, "10m": 10 * time.Minute,
	} {
		require.Equal(t, want, rough(d))
	}
}

func TestNamesAreListedInWords(t *testing.T) {
	require.Equal(t, "a", said{}.these([]string{"a"}))
	require.Equal(t, "a and b", said{}.these([]string{"a", "b"}))
	require.Equal(t, "a, b and c", said{}.these([]string{"a", "b", "c"}))
	require.Equal(t, "a, b, c, d, e and 1 more", said{}.these([]string{"a", "b", "c", "d", "e", "f"}))
}
