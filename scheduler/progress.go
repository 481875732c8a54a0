package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/solotick/solotick/internal/protocol"
)

// progressKind is the statement of a report about a tick.
type progressKind byte

const (
	// The tick was granted, and its lease ends at Until unless it is renewed.
	progressGranted progressKind = 'g'
	// It waits for another tick to end, which it does at Until at the latest unless that is renewed.
	progressQueued progressKind = 'q'
	// It is settled.
	progressSettled progressKind = 's'
	// It is undecided, and the lease in its way ends at Until unless it is renewed.
	progressBusy progressKind = 'b'
	// It is due, and the sender has no room for it.
	progressFull progressKind = 'f'
	// Nothing but its watermark.
	progressDecided progressKind = 'd'
	// The record has lost something, and the sender knows a watermark of Tick: see inquiries. Until is
	// the inquiry's number.
	progressBehind progressKind = 'o'
	// The sender has written back what it knows. Tick is the inquiry's number, and in place of a job
	// is who asks.
	progressAnswered progressKind = 'k'
	// The sender claims nothing more.
	progressLeaving progressKind = 'l'
)

// report is something that a replica has learned from the record of a job. Times are Unix ms of
// fleet time.
type report struct {
	kind  progressKind
	job   string
	tick  int64
	until int64
	// watermark says that the record's watermark has reached the tick: there is no earlier one that is
	// undecided.
	watermark bool
}

// progress is a message to the other replicas of a fleet: what its sender has learned lately.
// docs/scheduler.md says what a receiver may take from one.
//
// It is text: a line about the sender, and one for each kind, tick and time, with the names of the
// jobs:
//
//	solotick1 SINCE REPLICA INSTANCE
//	KIND[w] TICK UNTIL JOB JOB …
//
// SINCE is since when the store remembers, in µs: knowledge from a store that has lost its records
// since counts for nothing. Lines of a kind that the receiver does not know are left out.
type progress struct {
	since             int64
	replica, instance string
	reports           []report
}

const progressVersion = "solotick1"

// untilStep is the step to which the ends of leases are rounded up, so that those of many jobs
// share a line.
const untilStep = 64 // ms

// encode makes messages of at most protocol.MaxMessage bytes each.
func (p progress) encode() (messages [][]byte) {
	type group struct {
		kind        progressKind
		watermark   bool
		tick, until int64
	}
	groups := map[group][]string{}
	for _, r := range p.reports {
		g := group{r.kind, r.watermark, r.tick, r.until}
		if r.kind != progressBehind {
			g.until = (r.until + untilStep - 1) / untilStep * untilStep
		}
		groups[g] = append(groups[g], r.job)
	}
	order := slices.SortedFunc(maps.Keys(groups), func(a, b group) int {
		return cmp.Or(cmp.Compare(a.tick, b.tick), cmp.Compare(a.kind, b.kind), cmp.Compare(a.until, b.until))
	})
	head := fmt.Sprintf("%s %d %s %s", progressVersion, p.since, p.replica, p.instance)
	var text []byte
	flush := func() {
		messages = append(messages, text)
		text = nil
	}
	for _, g := range order {
		line := []byte{'\n', byte(g.kind)}
		if g.watermark {
			line = append(line, 'w')
		}
		line = strconv.AppendInt(append(line, ' '), g.tick, 10)
		line = strconv.AppendInt(append(line, ' '), g.until, 10)
		begun := false
		for _, job := range groups[g] {
			if len(text) > 0 && len(text)+len(line)+len(job)+1 > protocol.MaxMessage {
				flush()
				begun = false
			}
			if text == nil {
				text = append(text, head...)
			}
			if !begun {
				text = append(text, line...)
				begun = true
			}
			text = append(append(text, ' '), job...)
		}
	}
	if text != nil {
		flush()
	}
	return messages
}

// decodeProgress reads a message. It returns false when that is of another version, or none.
func decodeProgress(message []byte) (p progress, ok bool) {
	head, lines, _ := strings.Cut(string(message), "\n")
	fields := strings.Fields(head)
	if len(fields) != 4 || fields[0] != progressVersion {
		return p, false
	}
	since, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return p, false
	}
	p.since, p.replica, p.instance = since, fields[2], fields[3]
	for line := range strings.SplitSeq(lines, "\n") {
		p.reports = appendReports(p.reports, line)
	}
	return p, true
}

func appendReports(list []report, line string) []report {
	kind, rest, _ := strings.Cut(line, " ")
	tick, rest, _ := strings.Cut(rest, " ")
	until, names, _ := strings.Cut(rest, " ")
	kind, watermark := strings.CutSuffix(kind, "w")
	at, err := strconv.ParseInt(tick, 10, 64)
	if err != nil || len(kind) != 1 || at < 0 {
		return list
	}
	list = slices.Grow(list, 1+strings.Count(names, " "))
	r := report{kind: progressKind(kind[0]), tick: at, watermark: watermark}
	if r.until, err = strconv.ParseInt(until, 10, 64); err != nil {
		return list
	}
	for job := range strings.SplitSeq(names, " ") {
		r.job = job
		list = append(list, r)
	}
	return list
}
