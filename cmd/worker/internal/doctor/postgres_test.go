package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/pglease"
)

func TestPostgreSQLThatForgetsIsFound(t *testing.T) {
	fine := pglease.Facts{Version: "15.8", Synchronous: true}
	for _, c := range []struct {
		facts    pglease.Facts
		check    string
		result   Result
		contains string
	}{
		{fine, "version", OK, ""},
		{pglease.Facts{Version: "12.1", TooOld: true, Synchronous: true}, "version", Fail, "PostgreSQL 13"},
		{pglease.Facts{Standby: true, Synchronous: true}, "primary", Fail, "name the primary"},
		{pglease.Facts{}, "durability", Warn, "synchronous_commit"},
		{pglease.Facts{Synchronous: true, Behind: 2}, "durability", Warn, "synchronous_standby_names"},
		{pglease.Facts{Synchronous: true, Pooled: true}, "notifications", OK, ""},
	} {
		for _, f := range postgresFindings(c.facts) {
			if f.Check == c.check {
				require.Equal(t, c.result, f.Result, f)
				require.Contains(t, f.Change, c.contains)
			}
		}
	}
	for _, f := range postgresFindings(fine) {
		require.Equal(t, OK, f.Result, f)
	}
}
