package fleet

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// Fact is an act of somebody about a job, or an observation of a replica, as the store's journal
// keeps it, where it has one. It is evidence for people: nothing depends on it, and one that could
// not be written makes an explanation say less.
type Fact struct {
	// Kind says what it is about. Those about jobs are in the journal of the job, the others in
	// that of the fleet:
	//
	//	triggered By asked for Tick, with Key and a Payload; to run the tick of From again, if there is one
	//	paused    By paused the job at From, because of Why; or gave the pause of that time a new reason
	//	resumed   By ended at To the pause that Pauser had begun at From, because of Why
	//	takeover  By was granted Tick, which Replica had held from From to To
	//	edited    By was the first to bring another schedule, at From
	//	repaired  By brought the watermark of the job back, at From, which lay in the future, at To
	//	cancelled By ended Tick
	//	scheduled By put a stored schedule, at From; or Count of them
	//	deleted   By deleted a stored schedule, at From
	//	released  By took Lock from Replica, which had been granted it as Token at From
	//	forgotten By removed the record of Job, whose watermark was To, and Token its last
	//	away      the store did not answer By, from From to To
	//	absent    no heartbeat reached the store between From, by Replica, and To, by By
	//	held      By claimed nothing from From to To, because it did not trust the store's clock
	Kind string    `api:"kind"`
	At   time.Time `api:"at" journal:"-"` // when it was noted, by fleet time
	Tick time.Time `api:"tick"`           // zero where there is none; of a takeover of a leader task, too
	By   string    `api:"by"`             // who did it, or the replica that noticed it

	// Of acts: the reason that By gave, and the way it was asked for, as in [Act].
	Reason string `api:"reason,omitempty"`
	Via    string `api:"via,omitempty"`

	Job     string    `api:"job,omitempty"`  // of forgotten, which is in the journal of the fleet, and of all in the audit log
	Lock    string    `api:"lock,omitempty"` // of released
	Key     string    `api:"key,omitempty"`  // Why is of a pause, also of one that has ended
	Why     string    `api:"why,omitempty"`
	Count   int       `api:"count,omitempty"`                           // of acts on several stored schedules: how many, with Key as the prefix of their keys
	Payload int       `api:"payload_bytes,omitempty" journal:"payload"` // of triggered: how many bytes it gave to the run
	Pauser  string    `api:"paused_by,omitempty" journal:"pauser"`      // of resumed: who had paused the job
	From    time.Time `api:"from"`                                      // by fleet time, in milliseconds
	To      time.Time `api:"to"`

	// Of takeover: the former holder, with its grant. Released says that it gave the tick up;
	// otherwise its lease ran out at To. Of absent, Replica is the one whose heartbeat was the
	// last.
	Replica  string `api:"replica,omitempty"`
	Token    int64  `api:"token,omitempty"`
	Attempt  int    `api:"attempt,omitempty"`
	Released bool   `api:"released,omitempty"`

	Groups   []string `api:"groups,omitempty"`   // of absent: no replica that serves one of them; empty for no replica at all
	Schedule string   `api:"schedule,omitempty"` // of edited and scheduled: the new one
	Before   string   `api:"before,omitempty"`   // and the one before; empty when it is not known
	Living   int      `api:"-" journal:"living"` // of away and held: how many replicas By had seen before, itself included; 0 when it had seen none

	// Step belongs to held. It is how far the store's clock had stepped, in milliseconds, above 0
	// when forward. It is 0 when By had just started, and the clock disagreed with its machine's.
	Step time.Duration `api:"step_ms,omitempty"`
}

// Request identifies what f is about, so that a fact which several notice, or somebody notes twice,
// is kept once.
func (f Fact) Request() string {
	id := []any{f.Kind}
	switch f.Kind {
	case wire.FactTriggered:
		id = append(id, wire.UnixMilli(f.Tick), f.By, f.Key)
	case wire.FactPaused:
		id = append(id, wire.UnixMilli(f.From), f.By, f.Why)
	case wire.FactResumed, wire.FactEdited:
		id = append(id, wire.UnixMilli(f.From))
	case wire.FactScheduled, wire.FactDeleted:
		id = append(id, wire.UnixMilli(f.From), f.By, f.Schedule, f.Job)
	case wire.FactRepaired:
		id = append(id, wire.UnixMilli(f.From), wire.UnixMilli(f.To))
	case wire.FactCancelled:
		id = append(id, wire.UnixMilli(f.Tick), f.By)
	case wire.FactReleased:
		id = append(id, f.Lock, f.Token)
	case wire.FactForgotten:
		id = append(id, f.Job, f.Token, wire.UnixMilli(f.To))
	case wire.FactTakeover:
		id = append(id, wire.UnixMilli(f.Tick), f.Token)
	case wire.FactAway, wire.FactHeld:
		id = append(id, f.By, wire.UnixMilli(f.From))
	case wire.FactAbsent:
		id = append(id, wire.UnixMilli(f.From), strings.Join(f.Groups, ","))
	}
	if f.Count > 0 {
		id = append(id, f.Key, f.Count)
	}
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, id...)
	return f.Kind + "-" + strconv.FormatUint(h.Sum64(), 36)
}

// Encode writes f for the journal, without At. Long texts are cut. Other versions of this program
// read it: a field may be added, and none changes its meaning.
func (f Fact) Encode() []byte {
	cut := f
	for most := protocol.MaxNoteText; ; most /= 2 {
		cut.Why, cut.Reason = protocol.Cut(f.Why, most), protocol.Cut(f.Reason, most)
		cut.Schedule, cut.Before = protocol.Cut(f.Schedule, most), protocol.Cut(f.Before, most)
		if f.Kind == wire.FactPaused {
			cut.Reason = "" // Why says the same
		}
		text, _ := journal.marshal(cut) // of strings, numbers and times: it cannot fail
		if len(text) <= protocol.MaxNoteText || most == 0 {
			return text
		}
	}
}

// decodeFact reads what Encode wrote.
func decodeFact(n protocol.JournalEntry) (f Fact, ok bool) {
	if journal.unmarshal(n.Text, &f) != nil || f.Kind == "" {
		return Fact{}, false
	}
	if f.At = n.At; f.Kind == wire.FactPaused {
		f.Reason = f.Why
	}
	return f, true
}

// Facts returns what a journal holds, newest first. That of a job names who triggered, paused,
// resumed, cancelled and repaired the job, whose ticks were taken over, and the job's edits. At
// most 128 are kept. That of the fleet, for an empty name, shows when the store did not answer a
// replica, when no replica lived, and which jobs were forgotten. It also shows when a replica
// claimed nothing because it did not trust the store's clock.
func (f *Fleet) Facts(ctx context.Context, job string) ([]Fact, error) {
	notes, err := f.store.Notes(ctx, job, 0)
	if err != nil {
		return nil, err
	}
	return factsOf(notes), nil
}

func factsOf(notes []protocol.JournalEntry) []Fact {
	list := make([]Fact, 0, len(notes))
	for _, n := range notes {
		if fact, ok := decodeFact(n); ok {
			list = append(list, fact)
		}
	}
	return list
}

// noteTimeout bounds how long an act waits for its fact to be noted: acts of one process go to the
// audit log one after another.
const noteTimeout = 5 * time.Second

// repeatedWithin is for how long an act that somebody repeats, whose first answer was lost, counts
// as the same.
const repeatedWithin = 10 * time.Minute

// Note records an act about a job in its journal and in the audit log, after the act. When this
// fails, the actor is not known, and nothing else is lost. The other order could name somebody that
// did nothing.
func (f *Fleet) Note(ctx context.Context, job string, fact Fact) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTimeout)
	defer cancel()
	if fact.Kind != wire.FactReleased {
		twice(func() error { return f.store.Append(ctx, job, fact.Request(), fact.Encode()) })
	}
	if fact.Job == "" {
		fact.Job = job
	}
	twice(func() error { return f.store.AppendAudit(ctx, fact.auditRequest(), fact.Encode()) })
}

// twice tries the same request again, should the first reply have been lost.
func twice(try func() error) {
	if try() != nil {
		_ = try()
	}
}

// Words says in one sentence what f is about, with times in a zone: in English, or as translate has
// it. See [Fleet.Why].
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
	case wire.FactScheduled:
		if f.Count > 0 {
			return w.Say("%s put %d schedules%s.", f.By, f.Count, because)
		}
		return w.Say("%s put the schedule %s%s.", f.By, f.Schedule, because)
	case wire.FactDeleted:
		return w.Say("%s deleted the schedule%s.", f.By, because)
	case wire.FactTriggered:
		text := w.Say("%s triggered it: the tick of %s", f.By, when(f.Tick))
		if !f.From.IsZero() {
			text += w.Say(", which runs that of %s again", when(f.From))
		}
		if f.Key != "" {
			text += w.Say(", with key %q", f.Key)
		}
		if f.Payload > 0 {
			text += w.Say(", with a payload of %d bytes", f.Payload)
		}
		return text + because + w.Say(".")
	case wire.FactPaused:
		if f.Count > 0 {
			return w.Say("%s paused %d schedules whose keys begin with %q%s.", f.By, f.Count, f.Key, because)
		}
		return w.Say("%s paused it%s.", f.By, because)
	case wire.FactResumed:
		if f.Count > 0 {
			return w.Say("%s resumed %d schedules whose keys begin with %q%s.", f.By, f.Count, f.Key, because)
		}
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
