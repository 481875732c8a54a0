package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/solotest"
)

func wanted() (rows []string) {
	for row := range pages * page {
		rows = append(rows, fmt.Sprint("order ", row+1))
	}
	return rows
}

func TestExportIsWholeAfterAKill(t *testing.T) {
	for name, hurt := range map[string]func(f *solotest.Fleet, replica string){
		"killed": (*solotest.Fleet).Kill, "stopped": (*solotest.Fleet).Stop, "cut off": (*solotest.Fleet).Cut,
	} {
		t.Run(name, func(t *testing.T) {
			solotest.Run(t, 3, func(t *testing.T, f *solotest.Fleet) {
				path := filepath.Join(t.TempDir(), "orders.csv")
				f.Func("export", "@every 10m", exportTo(path))
				f.Advance(11 * time.Minute)
				hurt(f, f.Runs("export")[0].Replica)
				f.Advance(5 * time.Minute)
				runs := f.Runs("export")
				require.Len(t, runs, 2)
				var at position
				require.NoError(t, json.Unmarshal(runs[1].Position, &at))
				require.GreaterOrEqual(t, at.Page, 50, "a minute's work is not done again")
				text, err := os.ReadFile(path) //nolint:gosec // of the test
				require.NoError(t, err)
				require.Equal(t, wanted(), strings.Split(strings.TrimSpace(string(text)), "\n"))
			})
		})
	}
}

// TestScriptGoesOnWhereItWas runs the script as the worker does, until it is killed, and again.
func TestScriptGoesOnWhereItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "orders.csv")
	run := func(position string, kill bool) (newest string) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		c := exec.Command("./export.sh", path)
		c.Env = append(os.Environ(), "SOLOTICK_POSITION="+position, "SOLOTICK_CHECKPOINT_FD=3", "EXPORT_PAUSE=0.001")
		c.ExtraFiles = []*os.File{w}
		require.NoError(t, c.Start())
		require.NoError(t, w.Close())
		lines := bufio.NewScanner(r)
		for lines.Scan() {
			if newest, _, _ = strings.Cut(lines.Text(), "\t"); kill && strings.HasPrefix(newest, "70 ") {
				require.NoError(t, c.Process.Kill())
				break
			}
		}
		require.Equal(t, kill, c.Wait() != nil)
		require.NoError(t, r.Close())
		return newest
	}
	position := run("", true)
	require.True(t, strings.HasPrefix(position, "70 "), position)
	require.True(t, strings.HasPrefix(run(position, false), "100 "))
	text, err := os.ReadFile(path) //nolint:gosec // of the test
	require.NoError(t, err)
	require.Equal(t, wanted(), strings.Split(strings.TrimSpace(string(text)), "\n"))
}

func TestConfigurationIsValid(t *testing.T) {
	text, err := os.ReadFile("solotick.yaml")
	require.NoError(t, err)
	_, err = config.Parse("solotick.yaml", text, os.LookupEnv)
	require.NoError(t, err)
}
