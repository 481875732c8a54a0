package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/internal/redistest"
)

func TestTheServiceStartsAndStops(t *testing.T) {
	var s *solotick.Scheduler
	app := fx.New(service(redistest.Start(t).URL()), fx.Populate(&s))
	require.NoError(t, app.Start(t.Context()))
	require.NoError(t, s.WaitReady(t.Context()))
	require.NoError(t, app.Stop(t.Context()))
	require.Error(t, fx.New(service("not a URL")).Start(t.Context()))
}

// docs/migrate/fx.md says how many, and it is where a service of its own is to begin.
func TestTheServiceHasAtMostTwentyFiveLines(t *testing.T) {
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	_, main, found := strings.Cut(string(program), "\nfunc main() {")
	require.True(t, found)
	main, _, found = strings.Cut("func main() {"+main, "\nfunc newReport()")
	require.True(t, found)
	lines := 0
	for line := range strings.Lines(main) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	require.LessOrEqual(t, lines, 25)
	page, err := os.ReadFile("../../../docs/migrate/fx.md")
	require.NoError(t, err)
	require.Contains(t, string(page), fmt.Sprintf("the whole program: %d lines from `main` to the job", lines))
}
