package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/naming"
)

func TestNamesThatMayHaveBeenMeantAreFound(t *testing.T) {
	known := []string{"nightly-report", "nightly-backup", "sync-orders", "a"}
	for name, want := range map[string][]string{
		"nightly-raport": {"nightly-report"}, "NIGHTLY-REPORT": {"nightly-report"}, "report": {"nightly-report"}, "syncorders": {"sync-orders"},
		"nightly": {"nightly-report", "nightly-backup"}, "zzz": nil, "": nil, "b": {"a"},
	} {
		require.Equal(t, want, similar(name, known), name)
	}
}

func TestCallerIsAName(t *testing.T) {
	for want, who := range map[string][2]string{
		"ops1-at-web-1": {"ops1", "web-1"}, "CORP-ops1-at-web.example.com": {`CORP\ops1`, "web.example.com"},
		"somebody-at-some-host": {}, "x-at-h": {"-x", "h"}, "j-rg-at-h": {"jörg", "h"},
	} {
		got := caller(who[0], who[1])
		require.Equal(t, want, got)
	}
	require.True(t, naming.Valid(caller(strings.Repeat("x", 300), "h")))
}
