package main

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/lease/etcdlease"
)

func TestDoctorJudgesEtcd(t *testing.T) {
	good := etcdlease.Member{Endpoint: "h:1", Version: "3.6.0", Leader: true, Size: 1 << 20, Quota: 2 << 30, Uncertain: 10 * time.Millisecond}
	for name, test := range map[string]struct {
		change  func(f *etcdlease.Facts)
		check   string
		result  doctor.Result
		finding string
	}{
		"good":    {func(*etcdlease.Facts) {}, "members", doctor.OK, "3 of 3 answer"},
		"silent":  {func(f *etcdlease.Facts) { f.Members[1] = etcdlease.Member{Endpoint: "h:2", Err: errors.New("x")} }, "members", doctor.Warn, "2 of 3 answer; not h:2"},
		"old":     {func(f *etcdlease.Facts) { f.Members[1].Version, f.Members[1].TooOld = "3.4.1", true }, "version", doctor.Fail, "3.4.1"},
		"filling": {func(f *etcdlease.Facts) { f.Members[1].Size = 2 << 30 }, "space", doctor.Warn, "2048 of 2048 MiB"},
		"full":    {func(f *etcdlease.Facts) { f.Alarms = []string{"NOSPACE"} }, "space", doctor.Fail, "NOSPACE"},
		"clocks":  {func(f *etcdlease.Facts) { f.Members[2].Ahead = 3 * time.Second }, "members' clocks", doctor.Warn, "2.98s"},
		"agree":   {func(f *etcdlease.Facts) { f.Members[2].Ahead = 900 * time.Millisecond }, "members' clocks", doctor.OK, ""},
	} {
		f := etcdlease.Facts{Members: []etcdlease.Member{good, good, good}}
		test.change(&f)
		found := false
		for _, finding := range etcdFindings(f) {
			if finding.Check == test.check {
				found = true
				require.Equal(t, test.result, finding.Result, name)
				require.Contains(t, finding.Finding, test.finding, name)
			} else {
				require.Equal(t, doctor.OK, finding.Result, name)
			}
		}
		require.True(t, found, name)
	}
}
