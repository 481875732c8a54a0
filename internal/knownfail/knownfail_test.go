package knownfail_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/knownfail"
)

// outer is a test that takes down what becomes of it.
type outer struct {
	testing.TB
	failed bool
	said   string
}

func (o *outer) Failed() bool                   { return o.failed }
func (o *outer) Logf(format string, a ...any)   { o.said += fmt.Sprintf(format, a...) }
func (o *outer) Errorf(format string, a ...any) { o.failed = true; o.Logf(format, a...) }
func (o *outer) FailNow()                       { o.failed = true; runtime.Goexit() }

// run returns after knownfail.Run, and whether that did.
func run(t *testing.T, test func(o *outer, t *knownfail.T)) (o *outer, returned bool) {
	o = &outer{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		knownfail.Run(o, "of the moon", func(t *knownfail.T) { test(o, t) })
		returned = true
	}()
	<-done
	return o, returned
}

func TestKnownFailurePasses(t *testing.T) {
	for name, fail := range map[string]func(t *knownfail.T){
		"assert":  func(t *knownfail.T) { assert.Equal(t, 1, 2, "one is not two") },
		"require": func(t *knownfail.T) { require.Equal(t, 1, 2, "one is not two"); panic("goes on") },
		"in a goroutine": func(t *knownfail.T) {
			done := make(chan struct{})
			go func() { defer close(done); assert.Fail(t, "one is not two") }()
			<-done
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, returned := run(t, func(_ *outer, t *knownfail.T) { fail(t) })
			require.True(t, returned)
			require.False(t, o.failed)
			require.Contains(t, o.said, "known to fail because of the moon")
			require.Contains(t, o.said, "one is not two")
		})
	}
}

func TestPassingTestFails(t *testing.T) {
	o, returned := run(t, func(*outer, *knownfail.T) {})
	require.True(t, returned)
	require.True(t, o.failed)
	require.Contains(t, o.said, "passes now")
	require.Contains(t, o.said, "of the moon")
}

func TestPanicIsNotRecovered(t *testing.T) {
	broken := errors.New("broken")
	for name, before := range map[string]func(t *knownfail.T){
		"at once":         func(*knownfail.T) {},
		"after a failure": func(t *knownfail.T) { assert.Fail(t, "it fails as well") },
		"deferred":        func(t *knownfail.T) { defer panic(broken); require.Fail(t, "it fails as well") },
	} {
		t.Run(name, func(t *testing.T) {
			require.PanicsWithValue(t, broken, func() {
				knownfail.Run(&outer{TB: t}, "of the moon", func(t *knownfail.T) { before(t); panic(broken) })
			})
		})
	}
}

func TestFailureOfFixtureFails(t *testing.T) {
	o, returned := run(t, func(o *outer, _ *knownfail.T) { require.Fail(o, "no redis-server") })
	require.False(t, returned)
	require.True(t, o.failed)
	require.Contains(t, o.said, "no redis-server")

	o, _ = run(t, func(o *outer, t *knownfail.T) {
		assert.Fail(o, "lost a fixture")
		assert.Fail(t, "fails as well")
	})
	require.True(t, o.failed)
	require.Contains(t, o.said, "not only because of the moon")
}
