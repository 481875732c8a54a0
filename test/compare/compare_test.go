package main

import (
	"bytes"
	"io"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func at(second int64) time.Time { return time.Unix(second, 0) }

func TestVerdictCountsWhatWentWrong(t *testing.T) {
	for name, c := range map[string]struct {
		writes []int64
		want   string
	}{
		"each once":        {[]int64{10, 12, 14, 16, 18, 20}, "0 / 0 / 0"},
		"twice":            {[]int64{10, 12, 12, 14, 14, 14, 16, 18}, "3 / 0 / 0"},
		"none":             {[]int64{10, 12, 18}, "0 / 2 / 0"},
		"late":             {[]int64{10, 14, 12, 16, 18}, "0 / 0 / 1"},
		"outside of it":    {[]int64{8, 8, 10, 12, 14, 16, 18, 22, 20, 20}, "0 / 0 / 0"},
		"late and doubled": {[]int64{12, 14, 12, 16, 18}, "1 / 0 / 1"},
	} {
		v := judge(c.writes, at(11), at(19))
		require.Equal(t, c.want, v.String(), name)
		require.Equal(t, 4, v.ticks, name)
	}
}

func TestWrongClocksShowTheHarmAndTheCure(t *testing.T) {
	var table bytes.Buffer
	require.NoError(t, run(t.Context(), &table, io.Discard, 10*time.Second, []string{"robfig", "solotick"}, faults[1:2]))
	cells := regexp.MustCompile(`clocks 0\.3 s apart +(\d+) +(\d+) / (\d+) / (\d+) +(\d+) / (\d+) / (\d+)`).FindStringSubmatch(table.String())
	require.NotNil(t, cells, &table)
	require.NotEqual(t, "0", cells[2], "three replicas without a lock run each tick three times\n%s", &table)
	require.Equal(t, []string{"0", "0"}, []string{cells[5], cells[7]}, "duplicates and stale writes\n%s", &table)
}

func TestWrongArgumentsAreRefused(t *testing.T) {
	require.ErrorContains(t, run(t.Context(), io.Discard, io.Discard, time.Second, systems, faults), "at least 10s")
	require.ErrorContains(t, run(t.Context(), io.Discard, io.Discard, time.Minute, []string{"cron"}, faults), `"cron" must be one of`)
}
