package admission

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkFire takes due contenders out of the timers and sets them again, with many more that are
// not due.
func BenchmarkFire(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint("schedules=", n), func(b *testing.B) {
			t := NewTimers[*doer]()
			for range n {
				t.Set(new(doer).slot(), 1+rand.Int64N(1_000_000))
			}
			var due []*Slot[*doer]
			now := int64(0)
			b.ResetTimer()
			for fired := 0; fired < b.N; {
				_, next := t.Due(now, due)
				now = next
				due, _ = t.Due(now, due)
				for _, c := range due {
					t.Set(c, now+1+rand.Int64N(1_000_000))
				}
				fired += len(due)
			}
		})
	}
}
