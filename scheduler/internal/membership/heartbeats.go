package membership

import (
	"bytes"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
)

// Heartbeats keeps the last heartbeat of each member, by its holder. Most are the same as before,
// and decoding the jobs of all of them each time would be most of a replica's work while nothing is
// due. The zero value is empty.
type Heartbeats struct {
	last map[string]decodedHeartbeat
	sets heartbeat.JobLists

	Announced string // the digest of this replica's last heartbeat
	// What live has returned, and the version of the members that it is of; empty where they are to be
	// read again.
	Version string
	List    []heartbeat.Replica
	Unread  int
}

type decodedHeartbeat struct {
	info    []byte
	digest  string // of the info
	replica heartbeat.Replica
	err     error
}

// Live returns the heartbeats of live members, and how many more members have one that this program
// cannot read. It forgets all other members. sure reports whether the next look needs to read only
// what has changed.
func (h *Heartbeats) Live(members []protocol.Member) (list []heartbeat.Replica, unread int, sure bool) {
	if h.last == nil {
		h.last = make(map[string]decodedHeartbeat)
	}
	if len(h.sets) > len(members) || h.sets == nil { // some are of replicas that are gone, or have other jobs by now
		h.sets = make(heartbeat.JobLists)
	}
	sure = true
	present := make(map[string]bool, len(members))
	for _, m := range members {
		present[m.Holder] = true
		last, ok := h.last[m.Holder]
		if !ok || !bytes.Equal(last.info, m.Info) {
			last = decodedHeartbeat{info: m.Info, digest: protocol.InfoDigest(m.Info)}
			last.replica, last.err = h.sets.Decode(m.Info)
			h.last[m.Holder] = last
		}
		switch r := last.replica; {
		case last.err != nil:
			unread++
		case r.Outlived(m.Remaining): // until its next heartbeat, which may change nothing else
			sure = false
		default:
			r.ID, r.LastHeartbeat = m.Holder, m.LastHeartbeat
			list = append(list, r)
		}
	}
	for holder := range h.last {
		if !present[holder] {
			delete(h.last, holder)
		}
	}
	return list, unread, sure
}

// Known returns the digest of each member's heartbeat.
func (h *Heartbeats) Known() map[string]string {
	known := make(map[string]string, len(h.last))
	for holder, last := range h.last {
		known[holder] = last.digest
	}
	return known
}

// FillIn sets the Info of the members whose heartbeat is known already.
func (h *Heartbeats) FillIn(members []protocol.Member) {
	for i := range members {
		if m := &members[i]; m.Known {
			m.Info = h.last[m.Holder].info
		}
	}
}

// Take keeps the members that were read, and their version, which is empty if the store names none.
func (h *Heartbeats) Take(members []protocol.Member, version string) {
	list, unread, sure := h.Live(members)
	h.List, h.Unread, h.Version = list, unread, version
	if !sure {
		h.Version = ""
	}
}
