package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/doctor"
	"github.com/solotick/solotick/lease/pglease"
)

func TestPostgreSQLThatForgetsIsFound(t *testing.T) {
	fine := pglease.Facts{Version: "15.8", Synchronous: true}
	for _, c := range []struct {
		facts    pglease.Facts
		check    string
		result   doctor.Result
		contains string
	}{
		{fine, "version", doctor.OK, ""},
		{pglease.Facts{Version: "12.1", TooOld: true, Synchronous: true}, "version", doctor.Fail, "PostgreSQL 13"},
		{pglease.Facts{Standby: true, Synchronous: true}, "primary", doctor.Fail, "name the primary"},
		{pglease.Facts{}, "durability", doctor.Warn, "synchronous_commit"},
		{pglease.Facts{Synchronous: true, Behind: 2}, "durability", doctor.Warn, "synchronous_standby_names"},
		{pglease.Facts{Synchronous: true, Pooled: true}, "notifications", doctor.OK, ""},
	} {
		for _, f := range postgresFindings(c.facts) {
			if f.Check == c.check {
				require.Equal(t, c.result, f.Result, f)
				require.Contains(t, f.Change, c.contains)
			}
		}
	}
	for _, f := range postgresFindings(fine) {
		require.Equal(t, doctor.OK, f.Result, f)
	}
}
