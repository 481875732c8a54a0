package jobs_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func TestRevisionTellsDefinitionsApart(t *testing.T) {
	made := func(schedule string, options ...jobs.Option) *jobs.Job {
		j, err := jobs.New("job", schedule, func(context.Context, jobs.Run) error { return nil }, options...)
		require.NoError(t, err)
		return j
	}
	one := made("@hourly")
	require.Equal(t, one.Revision(), made("@hourly").Revision())
	require.Equal(t, one.Revision(), made("@hourly", jobs.WithTimezone("UTC"), jobs.WithGroups()).Revision(), "they mean the same")
	require.Len(t, one.Revision(), 12)
	seen := map[string]bool{one.Revision(): true}
	for _, other := range []*jobs.Job{
		made("@daily"), made("@hourly", jobs.WithTimezone("Europe/Berlin")), made("@hourly", jobs.WithTimeout(time.Second)),
		made("@hourly", func(s *jobs.Spec) { s.Definition = "command" }),
		made("@hourly", jobs.WithRate(jobs.Rate{Count: 1, Per: time.Hour}, 2)),
	} {
		require.False(t, seen[other.Revision()])
		seen[other.Revision()] = true
	}
	require.Equal(t, one.ScheduleRevision(), made("@hourly", jobs.WithTimeout(time.Second)).ScheduleRevision())
	require.NotEqual(t, one.ScheduleRevision(), made("@daily").ScheduleRevision())
	require.NotEqual(t, one.ScheduleRevision(), made("@hourly", jobs.WithTimezone("Europe/Berlin")).ScheduleRevision())
}

// printRevision makes this test binary a program that prints a job's schedule revision, and when in
// summer it runs.
const printRevision = "JOBS_PRINT_REVISION"

// TestZoneDataBelongsToScheduleRevision has two programs read one definition with the zone data of
// two images.
func TestZoneDataBelongsToScheduleRevision(t *testing.T) {
	if os.Getenv(printRevision) != "" {
		j, err := jobs.New("job", "0 12 * * *", func(context.Context, jobs.Run) error { return nil }, jobs.WithTimezone("Europe/Berlin"))
		require.NoError(t, err)
		summer := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
		fmt.Println("\n", j.Schedule().Next(summer).UTC().Format(time.TimeOnly), j.ScheduleRevision())
		return
	}
	const tzif = "TZif\x00" // version 1: one zone without any changes
	in := func(version string, offset byte) (tick, revision string) {
		dir := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(dir, "Europe"), 0o755))
		zone := tzif + strings.Repeat("\x00", 15+4*4+2) + "\x00" + "\x01" + "\x00\x00\x00\x04" + "\x00\x00" + string([]byte{offset, 0}) + "\x00\x00" + "ABC\x00"
		require.NoError(t, os.WriteFile(filepath.Join(dir, "Europe", "Berlin"), []byte(zone), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "+VERSION"), []byte(version+"\n"), 0o644))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "tzdata.zi"), []byte("# version "+version+"\n"), 0o644))
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), printRevision+"=1", "ZONEINFO="+dir)
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		fields := strings.Fields(string(out))
		return fields[0], fields[1]
	}
	tick, revision := in("2025a", 0x1c) // 2 h less about 8 min
	tickElsewhere, elsewhere := in("2026b", 0x0e)
	require.NotEqual(t, tick, tickElsewhere)

	require.NotEqual(t, revision, elsewhere)
}

func TestZoneRulesAreChangesOfTheClockAlone(t *testing.T) {
	rules := func(name string) []string {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		return strings.Fields(jobs.ZoneRules(zone))
	}
	require.Empty(t, rules("UTC"))
	require.Equal(t, []string{"1577836800+19800"}, rules("Asia/Kolkata"), "it has no summer time")
	berlin := rules("Europe/Berlin")
	require.Equal(t, []string{"1577836800+3600", "1585443600+7200", "1603587600+3600"}, berlin[:3])
	require.Len(t, berlin, 1+2*40)
	require.NotEqual(t, berlin, rules("Europe/London"))
}

func TestScheduleTextMakesTheSameTicks(t *testing.T) {
	for _, test := range []struct{ spec, zone, text string }{
		{"H  2 * * *", "", "UTC H 2 * * *"},
		{"30 2 * * *", "Europe/Berlin", "Europe/Berlin 30 2 * * *"},
		{"*/10 * * * * *", "UTC", "UTC */10 * * * * *"},
		{"@every 90s", "", "UTC @every 90s"},
		{"@at 2027-03-28T02:30:00Z", "", "UTC @at 2027-03-28T02:30:00Z"},
	} {
		job, err := jobs.New("job", test.spec, func(context.Context, jobs.Run) error { return nil }, jobs.WithTimezone(test.zone))
		require.NoError(t, err)
		require.Equal(t, test.text, job.ScheduleText())
		again, err := wire.ParseSchedule("job", job.ScheduleText())
		require.NoError(t, err)
		at := time.Date(2027, 3, 26, 0, 0, 0, 0, time.UTC)
		for range 10 {
			require.Equal(t, job.Schedule().Next(at), again.Next(at), test.text)
			at = at.Add(9 * time.Hour)
		}
	}
	for _, text := range []string{"", "UTC", "Nowhere/None 0 * * * *", "UTC 0 * * *"} {
		_, err := wire.ParseSchedule("job", text)
		require.ErrorContains(t, err, text)
	}
}
