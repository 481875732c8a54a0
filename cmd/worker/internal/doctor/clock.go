package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
)

// checkClock compares the clock of this machine with that of the store, by the fastest of five calls.
func checkClock(ctx context.Context, s *stores.Store, of string) Finding {
	var offset, best time.Duration
	for i := range 5 {
		began := time.Now()
		now, _, err := s.Time(ctx)
		took := time.Since(began)
		if err != nil {
			return unchecked("clock", err)
		}
		if i == 0 || took < best {
			offset, best = began.Add(took/2).Round(0).Sub(now), took
		}
	}
	return clockFinding(offset, best, of)
}

// clockFinding returns the finding for an offset by which this machine's clock is ahead of that of
// the store, such as Redis. The offset is known within the round trip.
func clockFinding(offset, roundTrip time.Duration, of string) Finding {
	f := Finding{Check: "clock", Result: OK}
	switch {
	case offset.Abs() <= roundTrip:
		f.Finding = fmt.Sprintf("this machine's clock and that of %s agree within %s", of, roundTrip.Round(10*time.Microsecond))
	case offset > 0:
		f.Finding = fmt.Sprintf("this machine's clock is %s ahead of that of %s, which decides when ticks are due", offset.Round(100*time.Microsecond), of)
	default:
		f.Finding = fmt.Sprintf("this machine's clock is %s behind that of %s, which decides when ticks are due", -offset.Round(100*time.Microsecond), of)
	}
	switch {
	case offset.Abs() >= max(clockFails, roundTrip):
		f.Result = Fail
		f.Finding += ". One of the two is wrong; if it is that of " + of + ", all ticks run at wrong times"
		f.Change = "find out which of the two is wrong, and synchronize both with NTP"
	case offset.Abs() >= max(clockWarns, roundTrip):
		f.Result, f.Change = Warn, "synchronize both clocks with NTP: times in logs, and in jobs that read this machine's clock, are as wrong"
	}
	return f
}
