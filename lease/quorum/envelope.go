package quorum

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"
)

// envelope is a value as the nodes keep it, with what tells who has made it of what.
type envelope struct {
	written time.Time // by the quorum's clock
	changes int       // how many there were, this one included
	lineage []string  // the ballots of the last of them, newest last
	// stamps is the time at each of the nodes that promised its ballot, by their own clocks, when it was written.
	stamps []stamp
	// round is for how long the proposer, by its own clock, had been asking for the promises: so much earlier than the value was
	// made a node may have given its own.
	round time.Duration
	value string
}

// stamp is what a node's clock said.
type stamp struct {
	node string // its id, shortened
	at   int64  // Unix ns
}

// stampsOf reads the clocks of nodes that have just answered, within round. Some may have answered before those by which the spans of
// the value before were measured. A node that has measured these itself knows better; of the others it is supposed, lest a lease
// become shorter with each change by whoever is slow.
func (e envelope) stampsOf(counted []answer, round time.Duration) (list []stamp) {
	for _, a := range counted {
		s := stamp{shortened(a.state.ID), a.state.Now.UnixNano()}
		if e.changes > 0 && !slices.ContainsFunc(e.stamps, func(old stamp) bool { return old.node == s.node }) {
			s.at += int64(round)
		}
		list = append(list, s)
	}
	return list
}

func shortened(id string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return strconv.FormatUint(h.Sum64(), 36)
}

// elapsed is the shortest time that has gone by since e was written by the clocks of nodes that were there, and false when
// none has answered.
func (e envelope) elapsed(counted []answer) (shortest time.Duration, ok bool) {
	for _, a := range counted {
		id := shortened(a.state.ID)
		for _, s := range e.stamps {
			if d := max(0, time.Duration(a.state.Now.UnixNano()-s.at)); s.node == id && (!ok || d < shortest) {
				shortest, ok = d, true
			}
		}
	}
	return shortest, ok
}

// remembered is how many changes of a value can be told apart, and so by how many a proposer may be overtaken and still
// learn whether its own was among them.
const remembered = 8

// after makes the envelope of what becomes of e.
func (e envelope) after(ballot, value string, now time.Time, stamps []stamp, round time.Duration) envelope {
	lineage := append(slices.Clone(e.lineage), ballot)
	return envelope{now, e.changes + 1, lineage[max(0, len(lineage)-remembered):], stamps, round, value}
}

func (e envelope) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %d %s %d", e.written.UnixNano(), e.changes, strings.Join(e.lineage, ","), e.round)
	for _, s := range e.stamps {
		fmt.Fprintf(&b, " %s:%d", s.node, s.at)
	}
	b.WriteString("\n" + e.value)
	return b.String()
}

// readEnvelope reads what a register holds; the zero envelope when that is nothing.
func readEnvelope(text string) (envelope, error) {
	if text == "" {
		return envelope{}, nil
	}
	head, value, ok := strings.Cut(text, "\n")
	fields := strings.Split(head, " ")
	if !ok || len(fields) < 4 {
		return envelope{}, fmt.Errorf("%w: a register holds %.40q", errReply, text)
	}
	written, err := strconv.ParseInt(fields[0], 10, 64)
	changes, also := strconv.Atoi(fields[1])
	round, too := strconv.ParseInt(fields[3], 10, 64)
	if err != nil || also != nil || too != nil {
		return envelope{}, fmt.Errorf("%w: a register holds %.40q", errReply, text)
	}
	e := envelope{written: time.Unix(0, written), changes: changes, lineage: strings.Split(fields[2], ","), value: value, round: time.Duration(round)}
	for _, field := range fields[4:] {
		node, at, _ := strings.Cut(field, ":")
		n, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return envelope{}, fmt.Errorf("%w: a register holds %.40q", errReply, text)
		}
		e.stamps = append(e.stamps, stamp{node, n})
	}
	return e, nil
}

// reading is what a register holds, and what the time is.
type reading struct {
	value string // empty when it holds nothing
	now   time.Time
	// shift is what has to be added to the end of every span that was measured from when the value was written.
	//
	// It is the difference between the quorum's clock then and now less the time that the nodes have measured meanwhile,
	// each by its own clock alone. So a span is as long as it was meant to be even if the median has come from another
	// node's clock in between.
	shift time.Duration
}

// outcome is what a change makes of a reading.
type outcome struct {
	next string        // what the register shall hold; empty: what it holds already
	keep time.Duration // for how long the register has to be kept without being touched
	done func()        // called when it is certain that the register holds next, or did hold what was read
}
