package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkFire takes due contenders out of the timers and sets them again, with many more that are not due.
func BenchmarkFire(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint("schedules=", n), func(b *testing.B) {
			t := newTimers()
			for range n {
				t.set(&contender{index: -1}, 1+rand.Int64N(1_000_000))
			}
			var due []*contender
			now := int64(0)
			b.ResetTimer()
			for fired := 0; fired < b.N; {
				_, next := t.due(now, due)
				now = next
				due, _ = t.due(now, due)
				for _, c := range due {
					t.set(c, now+1+rand.Int64N(1_000_000))
				}
				fired += len(due)
			}
		})
	}
}
