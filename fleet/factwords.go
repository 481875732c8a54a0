package fleet

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/wire"
)

// In says in one sentence what f is about, with times in a zone.
func (f Fact) In(zone *time.Location) string {
	when := func(t time.Time) string {
		if t.IsZero() {
			return "an unknown time"
		}
		return t.In(zone).Format(layout(dateLayout, t))
	}
	because := quotedBare(cmp.Or(f.Reason, f.Why))
	switch f.Kind {
	case wire.FactTriggered:
		text := fmt.Sprintf("%s triggered it: the tick of %s", f.By, when(f.Tick))
		if f.Key != "" {
			text += fmt.Sprintf(", with key %q", f.Key)
		}
		if f.Payload > 0 {
			text += fmt.Sprintf(", with a payload of %d bytes", f.Payload)
		}
		return text + because + "."
	case wire.FactPaused:
		return fmt.Sprintf("%s paused it%s.", f.By, because)
	case wire.FactResumed:
		return fmt.Sprintf("%s resumed it%s; %s had paused it at %s%s.", f.By, quotedBare(f.Reason), f.Pauser, when(f.From), quotedBare(f.Why))
	case wire.FactCancelled:
		return fmt.Sprintf("%s cancelled the tick of %s%s.", f.By, when(f.Tick), because)
	case wire.FactReleased:
		return fmt.Sprintf("%s took the lock %s away from %s%s.", f.By, f.Lock, cmp.Or(f.Replica, "its holder"), because)
	case wire.FactTakeover:
		what := "the tick of " + when(f.Tick)
		if f.Tick.IsZero() {
			what = "the leader task"
		}
		if f.Released {
			return fmt.Sprintf("%s took %s over from %s, which had given it up.", f.By, what, f.Replica)
		}
		return fmt.Sprintf("%s took %s over from %s, whose lease had run out at %s.", f.By, what, f.Replica, when(f.To))
	case wire.FactEdited:
		if f.Before == "" {
			return fmt.Sprintf("%s was the first to bring the schedule %s.", f.By, f.Schedule)
		}
		return fmt.Sprintf("%s was the first to bring the schedule %s, in place of %s.", f.By, f.Schedule, f.Before)
	case wire.FactRepaired:
		return fmt.Sprintf("%s brought the watermark back from %s, which lay in the future%s.", f.By, when(f.To), because)
	case wire.FactForgotten:
		return fmt.Sprintf("%s removed the record of %s%s.", f.By, f.Job, because)
	case wire.FactAway:
		return fmt.Sprintf("The store did not answer %s from %s to %s.", f.By, when(f.From), when(f.To))
	case wire.FactAbsent:
		who := "replica"
		if len(f.Groups) > 0 {
			who = "replica of " + groupNames(f.Groups)
		}
		return fmt.Sprintf("No %s was alive from %s, when the last heartbeat came from %s, to %s, when that of %s came.", who, when(f.From), f.Replica, when(f.To), f.By)
	case wire.FactHeld:
		return fmt.Sprintf("%s claimed nothing from %s to %s, since %s.", f.By, when(f.From), when(f.To), doubt(f.Step))
	}
	return strings.TrimSpace(fmt.Sprintf("%s: %s", wire.Words(f.Kind), f.By))
}
