package admission

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

// load asks a store for a while that answers so many requests a second, one after the other, from
// rtt away, as often as the gate allows. It returns how long the answers of the last second took at
// most, and how many there were.
func load(f *Inflight, perSecond int, rtt, lasts time.Duration) (slowest time.Duration, answered int) {
	service := time.Second / time.Duration(perSecond)
	var free time.Time // when the store has answered what it was asked so far
	type call struct{ asked, done time.Time }
	var calls []call
	end := time.Now().Add(lasts)
	for now := time.Now(); now.Before(end); now = time.Now() {
		for f.enter() {
			start := now.Add(rtt / 2)
			if free.After(start) {
				start = free
			}
			free = start.Add(service)
			calls = append(calls, call{now, free.Add(rtt / 2)})
		}
		time.Sleep(time.Until(calls[0].done))
		f.Answered(calls[0].asked, nil)
		f.leave()
		if time.Until(end) < time.Second {
			slowest, answered = max(slowest, time.Since(calls[0].asked)), answered+1
		}
		calls = calls[1:]
	}
	for range calls {
		f.leave()
	}
	return slowest, answered
}

func TestLimitKeepsAnswersNearTheirTarget(t *testing.T) {
	for name, test := range map[string]struct {
		perSecond int
		rtt       time.Duration
	}{
		"of a fast store":         {50_000, time.Millisecond},
		"of a slow store":         {100, time.Millisecond},
		"of a store far away":     {5_000, 200 * time.Millisecond},
		"of a slow one, far away": {500, 200 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := NewInflight(15 * time.Second)
				slowest, answered := load(f, test.perSecond, test.rtt, 20*time.Second)
				require.LessOrEqual(t, slowest, max(3*test.rtt+2*mostDelay, leastInflight*time.Second/time.Duration(test.perSecond)+test.rtt))
				require.GreaterOrEqual(t, answered, test.perSecond*8/10, "the store is not left idle")
			})
		})
	}
}

func TestLimitRecoversAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewInflight(15 * time.Second)
		load(f, 5000, time.Millisecond, 10*time.Second)
		before := f.Current()
		for range 20 {
			time.Sleep(50 * time.Millisecond)
			f.Answered(time.Now().Add(-time.Millisecond), errors.New("connection refused"))
		}
		require.Equal(t, leastInflight, f.Current())
		load(f, 5000, time.Millisecond, time.Second)
		require.GreaterOrEqual(t, f.Current(), before/3)
	})
}

func TestAnswerThatRecordIsUnreadableIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewInflight(15 * time.Second)
		time.Sleep(time.Second)
		f.Answered(time.Now(), protocol.ErrRecord)
		require.Equal(t, firstInflight, f.Current())
	})
}
