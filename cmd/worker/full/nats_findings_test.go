package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/lease/natslease"
)

func TestDoctorJudgesABucketOfNATS(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*natslease.Facts)
		check  string
		want   doctor.Result
	}{
		"fine":          {func(*natslease.Facts) {}, "copies", doctor.OK},
		"a server away": {func(f *natslease.Facts) { f.Current = 2 }, "copies", doctor.Warn},
		"one copy":      {func(f *natslease.Facts) { f.Replicas, f.Current = 1, 1 }, "copies", doctor.Warn},
		"one server":    {func(f *natslease.Facts) { f.Replicas, f.Current, f.Clustered = 1, 1, false }, "copies", doctor.OK},
		"in memory":     {func(f *natslease.Facts) { f.Memory = true }, "durability", doctor.Warn},
		"in files":      {func(*natslease.Facts) {}, "durability", doctor.OK},
		"no limit":      {func(f *natslease.Facts) { f.MaxBytes = 0 }, "room", doctor.OK},
		"room":          {func(*natslease.Facts) {}, "room", doctor.OK},
		"nearly full":   {func(f *natslease.Facts) { f.Bytes = 850 }, "room", doctor.Warn},
	} {
		facts := natslease.Facts{Server: "2.15.2", Bucket: "b", Replicas: 3, Current: 3, Clustered: true, Values: 1, Bytes: 100, MaxBytes: 1000}
		test.change(&facts)
		for _, f := range natsFindings(facts) {
			if f.Check == test.check {
				require.Equal(t, test.want, f.Result, name)
				require.Equal(t, test.want != doctor.OK, f.Change != "", name)
			}
		}
	}
}
