// Package reports holds what replicas say to one another about jobs: messages ([Message]), what those
// show of others' work ([Backlogs]), and questions about records that have lost something
// ([Inquiries]). All of it is hints: the store decides.
package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/solotick/solotick/internal/protocol"
)

// Kind is what a report says about a tick.
type Kind byte

const (
	// The tick was granted, and its lease ends at Until unless it is renewed.
	Granted Kind = 'g'
	// It waits for another tick to end, which it does at Until at the latest unless that is renewed.
	Queued Kind = 'q'
	// It is settled.
	Settled Kind = 's'
	// It is undecided, and the lease in its way ends at Until unless it is renewed.
	Busy Kind = 'b'
	// It is due, and the sender has no room for it.
	Full Kind = 'f'
	// Nothing but its watermark.
	Decided Kind = 'd'
	// The record has lost something, and the sender knows a watermark of Tick: see [Inquiries]. Until is
	// the inquiry's number.
	Behind Kind = 'o'
	// The sender has written back what it knows. Tick is the inquiry's number, and in place of a job
	// is who asks.
	Answered Kind = 'k'
	// The sender claims nothing more.
	Leaving Kind = 'l'
)

// Report is what a replica has learned from the record of a job. Times are Unix ms of fleet time.
type Report struct {
	Kind  Kind
	Job   string
	Tick  int64
	Until int64
	// Watermark reports that the record's watermark has reached the tick, so no earlier tick is
	// undecided.
	Watermark bool
}

// Message is a message to the other replicas of a fleet: what its sender has learned lately.
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
type Message struct {
	Since             int64
	Replica, Instance string
	Reports           []Report
}

const progressVersion = "solotick1"

// UntilStep is the step to which the ends of leases are rounded up, so that many jobs share a line.
const UntilStep = 64 // ms

// Encode returns p as messages of at most protocol.MaxMessage bytes.
func (p Message) Encode() (messages [][]byte) {
	type group struct {
		kind        Kind
		watermark   bool
		tick, until int64
	}
	groups := map[group][]string{}
	for _, r := range p.Reports {
		g := group{r.Kind, r.Watermark, r.Tick, r.Until}
		if r.Kind != Behind {
			g.until = (r.Until + UntilStep - 1) / UntilStep * UntilStep
		}
		groups[g] = append(groups[g], r.Job)
	}
	order := slices.SortedFunc(maps.Keys(groups), func(a, b group) int {
		return cmp.Or(cmp.Compare(a.tick, b.tick), cmp.Compare(a.kind, b.kind), cmp.Compare(a.until, b.until))
	})
	head := fmt.Sprintf("%s %d %s %s", progressVersion, p.Since, p.Replica, p.Instance)
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

// Decode reads a message. It returns false if the message is of another version, or no message at
// all.
func Decode(message []byte) (p Message, ok bool) {
	head, lines, _ := strings.Cut(string(message), "\n")
	fields := strings.Fields(head)
	if len(fields) != 4 || fields[0] != progressVersion {
		return p, false
	}
	since, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return p, false
	}
	p.Since, p.Replica, p.Instance = since, fields[2], fields[3]
	for line := range strings.SplitSeq(lines, "\n") {
		p.Reports = appendReports(p.Reports, line)
	}
	return p, true
}

func appendReports(list []Report, line string) []Report {
	kind, rest, _ := strings.Cut(line, " ")
	tick, rest, _ := strings.Cut(rest, " ")
	until, names, _ := strings.Cut(rest, " ")
	kind, watermark := strings.CutSuffix(kind, "w")
	at, err := strconv.ParseInt(tick, 10, 64)
	if err != nil || len(kind) != 1 || at < 0 {
		return list
	}
	list = slices.Grow(list, 1+strings.Count(names, " "))
	r := Report{Kind: Kind(kind[0]), Tick: at, Watermark: watermark}
	if r.Until, err = strconv.ParseInt(until, 10, 64); err != nil {
		return list
	}
	for job := range strings.SplitSeq(names, " ") {
		r.Job = job
		list = append(list, r)
	}
	return list
}
