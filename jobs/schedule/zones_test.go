package schedule_test

import (
	"archive/zip"
	"go/build"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // so that the zones below load on every machine

	"github.com/stretchr/testify/require"
)

// zones cover what clocks do somewhere between 2000 and 2040: daylight saving time on either
// hemisphere, changes at midnight, by half an hour and by three, at a different instant each year,
// standard time abandoned and moved, whole days left out, and nothing at all.
var zones = []string{
	"UTC",
	"Africa/Cairo", "Africa/Casablanca", "Africa/El_Aaiun", "Africa/Juba", "Africa/Sao_Tome", "Africa/Tripoli",
	"Africa/Windhoek",
	"America/Adak", "America/Asuncion", "America/Caracas", "America/Chicago", "America/Havana", "America/Lima",
	"America/Mexico_City", "America/Montevideo", "America/New_York", "America/Nuuk", "America/Port-au-Prince",
	"America/Punta_Arenas", "America/Santiago", "America/Sao_Paulo", "America/Scoresbysund", "America/St_Johns",
	"Antarctica/Casey", "Antarctica/Macquarie", "Antarctica/Troll", "Antarctica/Vostok",
	"Asia/Amman", "Asia/Beirut", "Asia/Colombo", "Asia/Dhaka", "Asia/Gaza", "Asia/Jerusalem", "Asia/Kathmandu",
	"Asia/Kolkata", "Asia/Pyongyang", "Asia/Tehran", "Asia/Tokyo", "Asia/Ulaanbaatar",
	"Atlantic/Azores", "Australia/Adelaide", "Australia/Lord_Howe", "Australia/Sydney",
	"Europe/Berlin", "Europe/Chisinau", "Europe/Dublin", "Europe/Istanbul", "Europe/London", "Europe/Moscow",
	"Europe/Volgograd",
	"Pacific/Apia", "Pacific/Auckland", "Pacific/Chatham", "Pacific/Easter", "Pacific/Fakaofo", "Pacific/Fiji",
	"Pacific/Kiritimati", "Pacific/Norfolk", "Pacific/Tongatapu",
}

func location(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	require.NoError(t, err)
	return loc
}

// allZones returns the zones of this machine's databases, the ones above among them. Of zones whose
// clocks agree all the time from one instant to another, it returns the first.
func allZones(t *testing.T, from, to int64) []string {
	t.Helper()
	names := slices.Concat(zones, systemZones(), zippedZones(t))
	require.Greater(t, len(names), len(zones)+400, "no time zone database found beside the one in time/tzdata")

	seen := map[uint64]bool{}
	distinct := []string{}
	for _, name := range names {
		loc, err := time.LoadLocation(name)
		require.NoError(t, err)
		const quarter = 15 * 60 // no clock changes twice in one
		clock := fnv.New64a()
		for at := from; at < to; at += quarter {
			_, offset := time.Unix(at, 0).In(loc).Zone()
			_, _ = clock.Write([]byte{byte(offset >> 16), byte(offset >> 8), byte(offset)})
		}
		if !seen[clock.Sum64()] {
			seen[clock.Sum64()] = true
			distinct = append(distinct, name)
		}
	}
	return distinct
}

func systemZones() []string {
	const root = "/usr/share/zoneinfo"
	var names []string
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil // a machine without the database has the other one
		}
		name, err := filepath.Rel(root, path)
		if err != nil || !('A' <= name[0] && name[0] <= 'Z') { // posix/ and right/ hold the same zones again
			return nil
		}
		if content, err := os.ReadFile(path); err == nil && strings.HasPrefix(string(content), "TZif") {
			names = append(names, name)
		}
		return nil
	})
	return names
}

func zippedZones(t *testing.T) []string {
	t.Helper()
	archive, err := zip.OpenReader(filepath.Join(build.Default.GOROOT, "lib", "time", "zoneinfo.zip"))
	if err != nil {
		return nil
	}
	defer func() { require.NoError(t, archive.Close()) }()
	var names []string
	for _, file := range archive.File {
		if !strings.HasSuffix(file.Name, "/") {
			names = append(names, file.Name)
		}
	}
	return names
}
