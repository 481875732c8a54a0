package quorum

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// format is that of what registers hold. Nothing is read from one of another format.
const format = 2

// ErrFormat is returned for a namespace that another release has used, whose registers this one
// does not read. Use another namespace; or stop all replicas, and then empty the namespace on every
// node.
var ErrFormat = protocol.Permanent(fmt.Errorf("quorum: the namespace is in the format of another release, and this one reads and writes format %d: "+
	"use another namespace, or stop all replicas and delete the namespace's keys on every node", format))

// envelope is a value as the nodes keep it, with what says which changes it is made of, and how old
// it is.
type envelope struct {
	Format  int       `json:"format"`
	Written time.Time `json:"written"` // by the quorum's clock
	Changes int       `json:"changes"` // how many there were, this one included
	Lineage []string  `json:"lineage"` // the ballots of the last of them, newest last
	// Stamps is the time at each of the nodes that promised its ballot, by their own clocks, when
	// it was written. It is Unix ns, by the node's shortened id.
	Stamps map[string]int64 `json:"stamps"`
	// Round is for how long the proposer, by its own clock, had been asking for the promises. A
	// node may have given its own so much earlier than the value was made.
	Round time.Duration `json:"round"`

	value string
}

// remembered is how many changes of a value are known by their ballots. A proposer that was
// overtaken by fewer learns whether its own change was among them.
const remembered = 8

// after makes the envelope of a change of e to a value, at a ballot.
func (e envelope) after(ballot, value string, v *view) envelope {
	lineage := append(slices.Clone(e.Lineage), ballot)
	return envelope{
		Format: format, Written: v.now, Changes: e.Changes + 1, Lineage: lineage[max(0, len(lineage)-remembered):],
		Stamps: v.stamps, Round: v.round, value: value,
	}
}

func (e envelope) String() string {
	head, err := json.Marshal(e)
	if err != nil {
		panic(err) // it is plain data
	}
	return string(head) + "\n" + e.value
}

// readEnvelope reads what a register holds; the zero envelope when that is nothing.
func readEnvelope(text string) (e envelope, err error) {
	if text == "" {
		return envelope{}, nil
	}
	head, value, _ := strings.Cut(text, "\n")
	if err := json.Unmarshal([]byte(head), &e); err != nil || e.Format != format {
		return envelope{}, fmt.Errorf("%w; a register holds %.40q", ErrFormat, text)
	}
	e.value = value
	return e, nil
}

// stampsOf reads the clocks of nodes that have just answered, within round. Some may have answered
// before those by which the times of the value before were measured. A node that has measured these
// itself knows better. For the others they are assumed, so that a lease does not become shorter
// with each change by a slow proposer.
func (e envelope) stampsOf(counted []answer, round time.Duration) map[string]int64 {
	stamps := make(map[string]int64, len(counted))
	for _, a := range counted {
		id := shortened(a.state.ID)
		stamps[id] = a.state.Now.UnixNano()
		if _, measured := e.Stamps[id]; e.Changes > 0 && !measured {
			stamps[id] += int64(round)
		}
	}
	return stamps
}

// elapsed is the shortest time that has gone by since e was written, by the clocks of nodes that
// were there. It is false when none has answered.
func (e envelope) elapsed(counted []answer) (shortest time.Duration, ok bool) {
	for _, a := range counted {
		at, measured := e.Stamps[shortened(a.state.ID)]
		if d := max(0, time.Duration(a.state.Now.UnixNano()-at)); measured && (!ok || d < shortest) {
			shortest, ok = d, true
		}
	}
	return shortest, ok
}

func shortened(id string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return strconv.FormatUint(h.Sum64(), 36)
}
