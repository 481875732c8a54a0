package reports

import (
	"slices"
	"strings"
	"sync"

	"github.com/solotick/solotick/internal/heartbeat"
)

// Backlogs shows how other replicas work off the ticks that are due, by their reports. A replica
// that is granted and settles ticks of an instant still works on the rest of them. Like every
// report it is a hint. The zero value is empty.
type Backlogs struct {
	mu   sync.Mutex
	last map[string][]progressAt // by replica
}

// progressAt is a tick, and when a replica last reported to have run it for any job, in Unix ms of
// fleet time.
type progressAt struct{ tick, at int64 }

const (
	// mostInstants is how many ticks are kept for each replica: those that it reported last.
	mostInstants = 4
	// LongestBacklog is how long others leave a tick to an owner that works off a backlog, in ms.
	LongestBacklog = 3000
)

// See keeps what a replica has reported.
func (b *Backlogs) See(replica string, reports []Report, now int64) {
	var ticks []int64
	for _, r := range reports {
		if (r.Kind == Granted || r.Kind == Settled) && !slices.Contains(ticks, r.Tick) && len(ticks) < mostInstants {
			ticks = append(ticks, r.Tick)
		}
	}
	if len(ticks) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		b.last = make(map[string][]progressAt)
	}
	list := slices.DeleteFunc(b.last[replica], func(g progressAt) bool { return slices.Contains(ticks, g.tick) })
	for _, tick := range ticks {
		list = append(list, progressAt{tick, now})
	}
	b.last[strings.Clone(replica)] = slices.Clone(list[max(0, len(list)-mostInstants):])
}

// Seen returns when a replica last reported that it ran that tick of any job, or 0 if it has not.
func (b *Backlogs) Seen(replica string, tick int64) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, g := range b.last[replica] {
		if g.tick == tick {
			return g.at
		}
	}
	return 0
}

// Forget forgets replicas that are not live.
func (b *Backlogs) Forget(live []heartbeat.Replica) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for replica := range b.last {
		if !slices.ContainsFunc(live, func(r heartbeat.Replica) bool { return r.ID == replica }) {
			delete(b.last, replica)
		}
	}
}
