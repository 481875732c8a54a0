package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
)

// clock compares the clock of this machine with that of Redis, by the fastest of five calls.
func (srv *server) clock(ctx context.Context) Finding { return clockOf(ctx, srv.store, "Redis") }

// clockOf compares the clock of this machine with that of a store, which is called so.
func clockOf(ctx context.Context, s *stores.Store, called string) Finding {
	var offset, best time.Duration
	for i := range 5 {
		began := time.Now()
		now, _, err := s.Time(ctx)
		took := time.Since(began)
		if err != nil {
			return Finding{Check: "clock", Result: Unchecked, Finding: fmt.Sprintf("could not be checked: %v", err)}
		}
		if i == 0 || took < best {
			offset, best = began.Add(took/2).Round(0).Sub(now), took
		}
	}
	return clockFinding(offset, best, called)
}

// clockFinding returns the finding for an offset by which this machine's clock is ahead of that of
// what is called so. The offset is known within the round trip.
func clockFinding(offset, roundTrip time.Duration, called string) Finding {
	f := Finding{Check: "clock", Result: OK}
	switch {
	case offset.Abs() <= roundTrip:
		f.Finding = fmt.Sprintf("this machine's clock and that of %s agree within %s", called, roundTrip.Round(10*time.Microsecond))
	case offset > 0:
		f.Finding = fmt.Sprintf("this machine's clock is %s ahead of that of %s, which decides when ticks are due", offset.Round(100*time.Microsecond), called)
	default:
		f.Finding = fmt.Sprintf("this machine's clock is %s behind that of %s, which decides when ticks are due", -offset.Round(100*time.Microsecond), called)
	}
	switch {
	case offset.Abs() >= max(clockFails, roundTrip):
		f.Result = Fail
		f.Finding += ". One of the two is wrong; if it is that of " + called + ", all ticks run at wrong times"
		f.Change = "find out which of the two is wrong, and synchronize both with NTP"
	case offset.Abs() >= max(clockWarns, roundTrip):
		f.Result, f.Change = Warn, "synchronize both clocks with NTP: times in logs, and in jobs that read this machine's clock, are as wrong"
	}
	return f
}
