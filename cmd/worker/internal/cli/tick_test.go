package cli

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestATickIsReadInManyWays(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	require.NoError(t, err)
	now := time.Date(2026, 11, 20, 3, 0, 0, 0, tokyo)
	want := time.Date(2026, 11, 20, 2, 0, 0, 0, tokyo)
	for _, text := range []string{
		"2026-11-19T17:00:00Z", "2026-11-20 02:00:00 +0900", "2026-11-20 02:00", "2026-11-20T02:00", "2026-11-20 02:00:00", "2026-11-20T02:00:00", "02:00",
		"02:00:00", fmt.Sprint(want.UnixMilli()),
	} {
		got, err := readTick(text, now, tokyo, nil)
		require.NoError(t, err, text)
		require.True(t, want.Equal(got), "%s: %s", text, got)
	}
	yesterday, err := readTick("03:01", now, tokyo, nil)
	require.NoError(t, err)
	require.Equal(t, "2026-11-19T03:01:00+09:00", yesterday.Format(time.RFC3339))
	exactly, err := readTick("2026-11-20 02:00:00.123", now, tokyo, nil)
	require.NoError(t, err)
	require.Equal(t, want.Add(123*time.Millisecond), exactly)
	for _, wrong := range []string{"", "12", "soon", "2026-11-20", "-1795175158387", "25:00"} {
		_, err := readTick(wrong, now, tokyo, nil)
		require.Error(t, err, wrong)
	}
}
