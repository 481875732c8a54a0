package fleet

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/wire"
)

// In says in one sentence what f is about, with times in a zone.
func (f Fact) In(zone *time.Location) string { return f.Words(zone, nil) }

// Words is In in another language, as translate has it: see [Fleet.WhyIn].
func (f Fact) Words(zone *time.Location, translate func(english string) string) string {
	w := said{translate}
	when := func(t time.Time) string {
		if t.IsZero() {
			return w.Say("an unknown time")
		}
		return t.In(zone).Format(layout(dateLayout, t))
	}
	because := w.because(cmp.Or(f.Reason, f.Why))
	switch f.Kind {
	case wire.FactTriggered:
		text := w.Say("%s triggered it: the tick of %s", f.By, when(f.Tick))
		if f.Key != "" {
			text += w.Say(", with key %q", f.Key)
		}
		if f.Payload > 0 {
			text += w.Say(", with a payload of %d bytes", f.Payload)
		}
		return text + because + w.Say(".")
	case wire.FactPaused:
		return w.Say("%s paused it%s.", f.By, because)
	case wire.FactResumed:
		return w.Say("%s resumed it%s; %s had paused it at %s%s.", f.By, w.because(f.Reason), f.Pauser, when(f.From), w.because(f.Why))
	case wire.FactCancelled:
		return w.Say("%s cancelled the tick of %s%s.", f.By, when(f.Tick), because)
	case wire.FactReleased:
		return w.Say("%s took the lock %s away from %s%s.", f.By, f.Lock, cmp.Or(f.Replica, w.Say("its holder")), because)
	case wire.FactTakeover:
		what := w.Say("the tick of %s", when(f.Tick))
		if f.Tick.IsZero() {
			what = w.Say("the leader task")
		}
		if f.Released {
			return w.Say("%s took %s over from %s, which had given it up.", f.By, what, f.Replica)
		}
		return w.Say("%s took %s over from %s, whose lease had run out at %s.", f.By, what, f.Replica, when(f.To))
	case wire.FactEdited:
		if f.Before == "" {
			return w.Say("%s was the first to bring the schedule %s.", f.By, f.Schedule)
		}
		return w.Say("%s was the first to bring the schedule %s, in place of %s.", f.By, f.Schedule, f.Before)
	case wire.FactRepaired:
		return w.Say("%s brought the watermark back from %s, which lay in the future%s.", f.By, when(f.To), because)
	case wire.FactForgotten:
		return w.Say("%s removed the record of %s%s.", f.By, f.Job, because)
	case wire.FactAway:
		return w.Say("The store did not answer %s from %s to %s.", f.By, when(f.From), when(f.To))
	case wire.FactAbsent:
		who := w.Say("replica")
		if len(f.Groups) > 0 {
			who = w.Say("replica of %s", w.groupNames(f.Groups))
		}
		return w.Say("No %s was alive from %s, when the last heartbeat came from %s, to %s, when that of %s came.", who, when(f.From), f.Replica, when(f.To), f.By)
	case wire.FactHeld:
		return w.Say("%s claimed nothing from %s to %s, since %s.", f.By, when(f.From), when(f.To), w.doubt(f.Step))
	}
	return strings.TrimSpace(fmt.Sprintf("%s: %s", wire.Words(f.Kind), f.By))
}
