package scheduler

import (
	"bytes"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/lease"
)

// heartbeats holds what each member said last, by its holder: most say the same again and again, and to decode the jobs
// of all of them each time would be most of what a replica does while nothing is due. The zero value is empty.
type heartbeats struct {
	last map[string]heartbeat
	sets fleet.JobLists
}

type heartbeat struct {
	info    []byte
	replica fleet.Replica
	err     error
}

// live returns what the members that live say, and how many more there are whose heartbeats this program cannot read. It
// forgets the others.
func (h *heartbeats) live(members []lease.Member) (list []fleet.Replica, unread int) {
	if h.last == nil {
		h.last = make(map[string]heartbeat)
	}
	if len(h.sets) > len(members) || h.sets == nil { // some are of replicas that are gone, or have other jobs by now
		h.sets = make(fleet.JobLists)
	}
	present := make(map[string]bool, len(members))
	for _, m := range members {
		present[m.Holder] = true
		last, ok := h.last[m.Holder]
		if !ok || !bytes.Equal(last.info, m.Info) {
			last = heartbeat{info: m.Info}
			last.replica, last.err = h.sets.DecodeReplica(m.Info)
			h.last[m.Holder] = last
		}
		switch r := last.replica; {
		case last.err != nil:
			unread++
		case !r.Outlived(m.Left):
			r.ID, r.Heard = m.Holder, m.Heard
			list = append(list, r)
		}
	}
	for holder := range h.last {
		if !present[holder] {
			delete(h.last, holder)
		}
	}
	return list, unread
}
