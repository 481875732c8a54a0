package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/configfile"
	"github.com/solotick/solotick/cmd/worker/internal/registry"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

// reloading is a reloader of a file, over a scheduler that is not started. It is made in a bubble,
// and runs until the end of the test.
type reloading struct {
	t       *testing.T
	path    string
	hangups chan os.Signal
	jobs    *scheduler.Scheduler

	mu      sync.Mutex
	updated int
	counted []string
	out     bytes.Buffer
}

func (r *reloading) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.out.Write(line)
}

func newReloading(t *testing.T, path string, flags ...configfile.Flag) *reloading {
	t.Helper()
	r := &reloading{t: t, path: path, hangups: make(chan os.Signal, 1)}
	none := func(string) (string, bool) { return "", false }
	from, err := loadSource(&configfile.File{Path: path, Flags: flags, Env: none}, r.hangups)
	require.NoError(t, err)
	logger := newLogger(r, "json", from.level, none)
	loaded, err := registry.New(from.loaded, path, nil)
	require.NoError(t, err)
	r.jobs, err = scheduler.New(new(memlease.Store), loaded, scheduler.WithGroups(from.loaded.Groups...))
	require.NoError(t, err)

	made := newReloader(from, logger)
	made.make = func(cfg *config.Config) (*jobs.Registry, error) { return registry.New(cfg, path, nil) }
	made.update = func(_ *config.Config, registry *jobs.Registry) scheduler.Changes {
		r.mu.Lock()
		r.updated++
		r.mu.Unlock()
		return r.jobs.Update(registry)
	}
	made.count = func(changed bool, fault error) {
		result := "unchanged"
		if fault != nil {
			result = "refused"
		} else if changed {
			result = "applied"
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.counted = append(r.counted, result)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); made.run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	time.Sleep(pollInterval / 2) // from now on, look is in the middle between two looks
	return r
}

// looks lets some looks pass.
func (r *reloading) looks(n int) {
	time.Sleep(time.Duration(n) * pollInterval)
	synctest.Wait()
}

func (r *reloading) write(text string) {
	require.NoError(r.t, os.WriteFile(r.path, []byte(text), 0o600))
}

// hangup sends SIGHUP and waits for what comes of it.
func (r *reloading) hangup() {
	r.hangups <- syscall.SIGHUP
	synctest.Wait()
}

// logged returns the lines of the log since the last call.
func (r *reloading) logged() (lines []logLine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for line := range strings.Lines(r.out.String()) {
		l := logLine{}
		require.NoError(r.t, json.Unmarshal([]byte(line), &l))
		lines = append(lines, l)
	}
	r.out.Reset()
	return lines
}

func (r *reloading) updates() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.updated
}

func (r *reloading) results() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.counted)
}

func (r *reloading) names() (names []string) {
	for _, j := range r.jobs.Jobs() {
		names = append(names, j.Name)
	}
	return names
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// logLine is a line of a log in JSON.
type logLine map[string]any

func (l logLine) is(message string, facts ...any) bool {
	for i := 0; i < len(facts); i += 2 {
		if l[facts[i].(string)] != facts[i+1] {
			return false
		}
	}
	return l["msg"] == message
}
