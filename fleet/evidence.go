package fleet

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/wire"
)

// Holder is a replica that held a tick before another took it over.
type Holder struct {
	Replica  string    `api:"replica"`
	Token    int64     `api:"token"`
	Attempt  int       `api:"attempt"`
	From     time.Time `api:"from"`     // when it was granted
	To       time.Time `api:"to"`       // when its lease ran out, or when the next was granted what it released
	Released bool      `api:"released"` // it gave the tick up; otherwise its lease ran out: it died, froze, or could not reach the store
	Next     string    `api:"next"`     // who took it over
}

// annotate adds to entries what the journal knows of them, and the leaders whose leases ran out.
func annotate(list []Entry, facts []Fact) []Entry {
	for i := range list {
		e := &list[i]
		if e.IsRange() || e.Scheduled.IsZero() {
			continue
		}
		e.Holders = holders(facts, e.Scheduled)
		e.Runs = withHolders(e.Runs, e.Holders)
		for _, f := range facts {
			if f.Kind == wire.FactTriggered && f.Tick.Equal(e.Scheduled) { // the oldest is who opened it
				e.TriggeredBy, e.Key, e.TriggerReason, e.Payload, e.Again = f.By, f.Key, f.Reason, f.Payload, f.From
			}
			if f.Kind == wire.FactTriggered && f.From.Equal(e.Scheduled) {
				e.RunAgain = append(e.RunAgain, f.Tick)
			}
			if f.Kind == wire.FactCancelled && f.Tick.Equal(e.Scheduled) && f.By == e.CancelledBy {
				e.CancelReason = f.Reason
			}
		}
	}
	return list
}

// holders returns who held a tick before its last holder, first to last. The zero tick is that of a
// leader task.
func holders(facts []Fact, tick time.Time) (list []Holder) {
	for _, f := range facts {
		if f.Kind == wire.FactTakeover && f.Tick.Equal(tick) {
			list = append(list, Holder{
				Replica: f.Replica, Token: f.Token, Attempt: f.Attempt, From: f.From, To: f.To, Released: f.Released, Next: f.By,
			})
		}
	}
	slices.SortFunc(list, func(a, b Holder) int { return cmp.Compare(a.Token, b.Token) })
	return list
}

// crashedLeaders returns an entry for each leader whose lease ran out: such an end is in no record.
// The task is not lost, since another has taken it over.
func crashedLeaders(namespace, job string, facts []Fact) (list []Entry) {
	for _, h := range holders(facts, time.Time{}) {
		if h.Released {
			continue
		}
		e := entry(namespace, job, 0)
		e.State, e.Outcome, e.Reason = wire.StateSettled, wire.RunExpired, wire.RunExpired
		e.Started, e.Ended, e.Replica, e.Token, e.Attempts = h.From, h.To, h.Replica, h.Token, h.Attempt
		list = append(list, e)
	}
	return list
}

// triggered says who asked for a tick.
func (r *reasoner) triggered(e Entry) string {
	var asked []string
	for _, f := range slices.Backward(r.Facts) {
		if f.Kind == wire.FactTriggered && f.Tick.Equal(e.Scheduled) {
			text := r.Say("by %s at %s", f.By, r.when(f.At))
			if f.Key != "" {
				text += r.Say(" with key %q", f.Key)
			}
			if f.Payload > 0 {
				text += r.Say(" with a payload of %d bytes", f.Payload)
			}
			text += r.because(f.Reason)
			asked = append(asked, text)
		}
	}
	if len(asked) == 0 && e.State == wire.StateWaiting { // the requests for it are shown below
		return r.Say("It was triggered by hand. ")
	}
	if len(asked) == 0 {
		return r.Say("It was triggered by hand; by whom is not known. ")
	}
	return r.Say("It was triggered by hand, %s. ", r.these(asked))
}

// takeovers says who held a tick before its last holder.
func (r *reasoner) takeovers(e Entry) (text string) {
	for _, h := range e.Holders {
		held := r.Say(" %s held it from %s", h.Replica, r.when(h.From))
		if h.Released {
			text += r.Say("%s (attempt %d, token %d) and gave it up; %s took it over at %s.", held, h.Attempt, h.Token, h.Next, r.when(h.To))
			continue
		}
		text += r.Say("%s until its lease ran out at %s (attempt %d, token %d): it had died, was frozen, or did not reach Redis%s. %s took it over.",
			held, r.when(h.To), h.Attempt, h.Token, r.lastHeard(h.Replica), h.Next)
	}
	return text
}

// lastHeard says when the last heartbeat of a replica came that is gone.
func (r *reasoner) lastHeard(id string) string {
	if slices.ContainsFunc(r.Replicas, func(other Replica) bool { return other.ID == id }) {
		return ""
	}
	for _, other := range r.Former {
		if other.ID == id && !other.LastHeartbeat.IsZero() {
			return r.Say(" (its last heartbeat came at %s)", r.when(other.LastHeartbeat))
		}
	}
	return ""
}

// formerLeaders says who led a leader task before.
func (r *reasoner) formerLeaders() (text string) {
	list := holders(r.Facts, time.Time{})
	if len(list) == 0 {
		return ""
	}
	h := list[len(list)-1]
	how := r.Say("until its lease ran out at %s%s", r.when(h.To), r.lastHeard(h.Replica))
	if h.Released {
		how = r.Say("and gave it up")
	}
	return r.Say(" Before %s, %s led from %s %s.", h.Next, h.Replica, r.when(h.From), how)
}

// pauseAt returns the pause in which something was skipped, and who ended it, and when, as far as
// that is known.
func (r *reasoner) pauseAt(at time.Time) (paused *Fact, by string, until time.Time) {
	for i, f := range r.Facts { // newest first
		switch {
		case f.From.After(at):
		case f.Kind == wire.FactResumed && (f.To.IsZero() || !f.To.Before(at)):
			p := f
			p.By = f.Pauser
			return &p, f.By, f.To
		case f.Kind == wire.FactResumed: // the newest pause before was over
			return nil, "", time.Time{}
		case f.Kind == wire.FactPaused:
			return &r.Facts[i], "", time.Time{}
		}
	}
	return nil, "", time.Time{}
}

// tolerance is by how much the times of facts may be off: a claim, or the return of a replica,
// takes a moment.
const tolerance = 1500 * time.Millisecond

// gap is a time in which nobody could start the job.
type gap struct {
	from, to time.Time
	text     string
}

// hindered explains why nobody started the job from the time of r's tick until it counted as
// missed, by what replicas noted. It reports whether that explains all of it.
func (r *reasoner) hindered(found time.Time) (text string, explains bool) {
	grace := time.Second
	if r.Job != nil {
		spec := r.Job.Spec()
		grace = max(spec.MisfireGrace, time.Second) + spec.Jitter
	}
	end := r.tick.Add(grace)
	if found.Before(end) {
		end = found
	}
	var gaps []gap
	for _, kind := range []string{wire.FactAway, wire.FactHeld} {
		if g, ok := r.allNoted(kind, r.tick, end); ok {
			gaps = append(gaps, g)
		}
	}
	if g, ok := r.nobody(r.tick, end); ok {
		gaps = append(gaps, g)
	}
	slices.SortFunc(gaps, func(a, b gap) int { return a.from.Compare(b.from) })
	covered := r.tick
	var texts []string
	for i, g := range gaps {
		if i > 0 && !g.to.After(covered) {
			continue // the one before says it all
		}
		if !g.from.After(covered.Add(tolerance)) {
			covered = g.to
		}
		texts = append(texts, g.text)
	}
	return strings.Join(texts, r.Say("; then ")), !covered.Add(tolerance).Before(end) && len(texts) > 0
}

// allNoted returns when none of the replicas that then lived could claim, for the same cause:
// FactAway or FactHeld.
func (r *reasoner) allNoted(kind string, from, to time.Time) (g gap, ok bool) {
	witnesses := map[string]bool{}
	living := 1
	var step time.Duration
	for _, f := range r.FleetFacts {
		if f.Kind != kind || f.To.Before(from) || f.From.After(to) {
			continue
		}
		living = max(living, f.Living)
		if f.Step.Abs() > step.Abs() {
			step = f.Step
		}
		witnesses[f.By] = true
		if g.from.IsZero() || f.From.After(g.from) { // by when all had noticed it
			g.from = f.From
		}
		if f.To.After(g.to) {
			g.to = f.To
		}
	}
	if len(witnesses) < min(living, mostWitnesses) {
		return g, false
	}
	names := make([]string, 0, len(witnesses))
	for name := range witnesses {
		names = append(names, name)
	}
	slices.Sort(names)
	if kind == wire.FactHeld {
		g.text = r.Say("nothing was claimed from %s to %s, since %s, as %s noted", r.when(g.from), r.when(g.to), r.doubt(step), r.these(names))
	} else {
		g.text = r.Say("Redis did not answer from %s to %s, as %s noted", r.when(g.from), r.when(g.to), r.these(names))
	}
	return g, true
}

// doubt says why a replica did not trust the store's clock.
func (w said) doubt(step time.Duration) string {
	switch {
	case step > 0:
		return w.Say("the clock of Redis had stepped forward by %s", rough(step))
	case step < 0:
		return w.Say("the clock of Redis had stepped back by %s", rough(-step))
	default:
		return w.Say("the clock of Redis disagreed with that of a machine where a replica had just started")
	}
}

// mostWitnesses is how many replicas note the same absence of the store, of more that live.
const mostWitnesses = 3

// nobody returns when no replica lived that serves the job.
func (r *reasoner) nobody(from, to time.Time) (g gap, ok bool) {
	var groups []string
	if r.Job != nil {
		groups = slices.Clone(r.Job.Spec().Groups)
		slices.Sort(groups)
		groups = slices.Compact(groups)
	}
	for _, f := range r.FleetFacts {
		if f.Kind != wire.FactAbsent || f.To.Before(from) || f.From.After(to) || len(f.Groups) > 0 && !slices.Equal(f.Groups, groups) {
			continue
		}
		if ok && len(f.Groups) > 0 {
			continue // that there was no replica at all says more
		}
		what, last := r.Say("no replica lived"), r.Say("the fleet's last heartbeat")
		if len(f.Groups) > 0 {
			what, last = r.Say("no replica of %s lived", r.groupNames(f.Groups)), r.Say("the last heartbeat of one")
		}
		g = gap{f.From, f.To, r.Say("%s: %s came at %s (%s), and the next replica at %s (%s)",
			what, last, r.when(f.From), f.Replica, r.when(f.To), f.By)}
		ok = true
	}
	return g, ok
}

func (w said) groupNames(groups []string) string {
	if len(groups) == 1 {
		return w.Say("group %s", groups[0])
	}
	return w.Say("the groups %s", w.these(groups))
}

// partly names known facts that may have been a cause, and need not.
func (r *reasoner) partly(found time.Time) (text string) {
	for _, f := range slices.Backward(r.FleetFacts) {
		if f.To.Before(r.tick) || f.From.After(found) {
			continue
		}
		switch f.Kind {
		case wire.FactAway:
			text += r.Say(" %s noted that Redis did not answer it from %s to %s.", f.By, r.when(f.From), r.when(f.To))
		case wire.FactHeld:
			text += r.Say(" %s noted that it claimed nothing from %s to %s, since %s.", f.By, r.when(f.From), r.when(f.To), r.doubt(f.Step))
		case wire.FactTriggered, wire.FactPaused, wire.FactResumed, wire.FactTakeover, wire.FactEdited, wire.FactCancelled, wire.FactReleased, wire.FactRepaired, wire.FactForgotten, wire.FactAbsent:
		}
	}
	return text
}

// edit says which edit a tick came before.
func (r *reasoner) edit(e Entry) string {
	for _, f := range slices.Backward(r.Facts) { // oldest first: the first edit after the tick
		if f.Kind != wire.FactEdited || !f.From.After(r.tick) || f.From.After(e.Ended.Add(tolerance)) {
			continue
		}
		text := r.Say("the schedule was changed at %s, when %s was the first to bring %s", r.when(f.From), f.By, f.Schedule)
		if f.Before != "" {
			text += r.Say(" in place of %s", f.Before)
		}
		return text
	}
	if revised := r.Record.Revised; revised.After(r.tick) && !revised.After(e.Ended.Add(tolerance)) {
		return r.Say("the schedule was changed at %s, by whom is not known", r.when(revised))
	}
	return r.Say("the schedule was changed since, when and by whom is not known")
}

// lastOf says when the last heartbeat came of a replica that serves the job, where none lives.
func (r *reasoner) lastOf() string {
	for _, other := range r.Former { // newest first
		if serves, known := other.serves(r.Record.Name); serves && !other.LastHeartbeat.IsZero() {
			return r.Say(" The last one that did was %s, with its last heartbeat at %s.", other.ID, r.when(other.LastHeartbeat))
		} else if !known {
			return ""
		}
	}
	return ""
}

// clockChange says what a change of the clock does to the tick.
func (r *reasoner) clockChange() string {
	if r.Job == nil || r.Job.Spec().Leader {
		return ""
	}
	const reach = 3 * time.Hour
	reading := r.tick.Format("2006-01-02T15:04:05")
	for _, c := range r.Job.Schedule().ClockChanges(r.tick.Add(-reach), r.tick.Add(reach)) {
		if c.RunsAt.Equal(r.tick) || c.At.Equal(r.tick) || c.First <= reading && reading <= c.Last {
			return r.Say(" %s.", c.Words(r.Wording))
		}
	}
	return ""
}
