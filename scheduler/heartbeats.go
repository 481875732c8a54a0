package scheduler

import (
	"bytes"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/lease"
)

// heartbeats holds what each member said last, by its holder: most say the same again and again, and to decode the jobs
// of all of them each time would be most of what a replica does while nothing is due.
type heartbeats map[string]heartbeat

type heartbeat struct {
	info    []byte
	replica fleet.Replica
	err     error
}

// live returns what the members that live say, and how many more there are whose heartbeats this program cannot read. It
// forgets the others.
func (h heartbeats) live(members []lease.Member) (list []fleet.Replica, unread int) {
	present := make(map[string]bool, len(members))
	for _, m := range members {
		present[m.Holder] = true
		last, ok := h[m.Holder]
		if !ok || !bytes.Equal(last.info, m.Info) {
			last = heartbeat{info: m.Info}
			last.replica, last.err = fleet.DecodeReplica(m.Info)
			h[m.Holder] = last
		}
		switch r := last.replica; {
		case last.err != nil:
			unread++
		case !r.Outlived(m.Left):
			r.ID, r.Heard = m.Holder, m.Heard
			list = append(list, r)
		}
	}
	for holder := range h {
		if !present[holder] {
			delete(h, holder)
		}
	}
	return list, unread
}
