// Package knownfail runs a test that is known to fail, with the reason why it does. The test runs for real each time, and on the
// day on which it passes it has to become an ordinary one.
package knownfail

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// T takes the expectations that are known to fail: it serves testify's require and assert. It is not a [testing.TB], so
// nothing that makes a fixture accepts it: fixtures, and whatever has to hold for the failure to mean what its reason says,
// use the test's own t.
//
// As with a [testing.T], FailNow ends the function that was given to [Run], and only that function's goroutine may call it.
type T struct {
	outer  testing.TB
	ending bool // by FailNow

	mu       sync.Mutex
	failures []string
}

// Run runs test, which is known to fail for that reason. The outer test fails when test passes. It fails as well for
// whatever else goes wrong meanwhile: a failure of outer itself, a panic, a data race.
func Run(outer testing.TB, reason string, test func(t *T)) {
	outer.Helper()
	t := &T{outer: outer}
	t.run(test)
	failures := strings.Join(t.failures, "\n")
	switch {
	case outer.Failed():
		outer.Logf("failed not only because %s\n%s", reason, failures)
	case t.failures == nil:
		outer.Errorf("passes now: make it an ordinary test, without knownfail. It was known to fail because %s", reason)
	default:
		outer.Logf("known to fail because %s\n%s", reason, failures)
	}
}

func (t *T) run(test func(t *T)) {
	defer func() {
		if !t.ending {
			return // a panic, if there is one, keeps its stack
		}
		if r := recover(); r != t {
			panic(r) // of what the function deferred
		}
	}()
	test(t)
}

// Helper marks the caller as a helper of the test.
func (t *T) Helper() { t.outer.Helper() }

// Context returns the test's.
func (t *T) Context() context.Context { return t.outer.Context() }

// Logf logs to the test.
func (t *T) Logf(format string, args ...any) {
	t.outer.Helper()
	t.outer.Logf(format, args...)
}

// Errorf notes a failure, and goes on.
func (t *T) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, fmt.Sprintf(format, args...))
}

// FailNow ends the test function.
func (t *T) FailNow() {
	if len(t.failures) == 0 {
		t.Errorf("FailNow")
	}
	t.ending = true
	panic(t)
}
