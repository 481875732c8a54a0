package processes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/internal/skewtest"
)

// WithClock lets the test step the clock of Redis with [Fleet.StepClock]. It needs a C compiler,
// and neither [WithRedis] nor [WithStore].
func WithClock() Option { return func(s *settings) { s.clock = true } }

// WithSkew makes the wall clock of a replica wrong by d, as long as the test lasts: what time.Now
// says there, in the job under test, too. Such replicas are the test built once more, with its tags
// and without the race detector, which needs the go command and takes a minute at first.
func WithSkew(replica string, d time.Duration) Option {
	return func(s *settings) {
		if s.skews == nil {
			s.skews = map[string]time.Duration{}
		}
		s.skews[replica] = d
	}
}

func (s *settings) server() (options []redistest.Option) {
	if s.clock {
		options = append(options, redistest.WithClock())
	}
	return options
}

// StepClock steps the clock of Redis by d, as when somebody sets the clock of its machine. It needs
// [WithClock].
func (f *Fleet) StepClock(d time.Duration) {
	f.t.Helper()
	if f.server == nil {
		f.t.Fatal("solotest: StepClock needs WithClock")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead += d
	f.server.SetClock(f.ahead)
}

// buildSkewed builds the test of this package with a clock that the environment puts wrong.
func (f *Fleet) buildSkewed() error {
	if len(f.skews) == 0 {
		return nil
	}
	dir := f.t.TempDir()
	overlay, err := skewtest.Overlay(dir)
	if err != nil {
		return err
	}
	f.skewed = filepath.Join(dir, "skewed.test")
	args := []string{"test", "-c", "-ldflags=-s -w", "-overlay", overlay, "-o", f.skewed}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, set := range info.Settings {
			if set.Key == "-tags" {
				args = append(args, "-tags", set.Value)
			}
		}
	}
	if out, err := exec.CommandContext(f.t.Context(), "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("go %v: %w\n%s", args, err, out)
	}
	return nil
}

// binary returns the program of a replica.
func (f *Fleet) binary(replica string) string {
	if f.skews[replica] != 0 {
		return f.skewed
	}
	return os.Args[0]
}
