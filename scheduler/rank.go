package scheduler

import (
	"hash/fnv"
	"maps"
	"math"
)

// ranking says in which order the replicas of a fleet claim a job's ticks, as far as one of them
// knows. It is never changed, only replaced.
//
// The order is weighted rendezvous hashing: each member has a score of its own for each job, and
// the highest is first. The hash is uniform in (0, 1). With the score -weight/ln(hash) a member is
// first for a share of the jobs that is proportional to its weight. A member that comes or goes
// changes the order of no others (Schindelhauer and Schomaker, Weighted Distributed Hash Tables,
// 2005). It depends on the job alone, not on the tick. So the replica that claims a job's next tick
// is the one that knows its record, having changed it last.
type ranking struct {
	self    string
	members []member
}

// member is a live replica that can claim.
type member struct {
	id     string
	weight float64           // above 0
	room   int               // the weight of jobs that it runs at a time; 0: no limit
	jobs   map[string]string // the revisions of those that it serves; nil when they are not known
	set    string            // the digest of those; empty when its heartbeat lists them
	hash   uint64            // of the id
}

func newRanking(self string, members []member) *ranking {
	for i := range members {
		members[i].hash = hashOf(members[i].id)
	}
	return &ranking{self: self, members: members}
}

// equal reports whether both claim the same in the same order.
func (m member) equal(n member) bool {
	return m.id == n.id && m.weight == n.weight && m.room == n.room && (m.jobs == nil) == (n.jobs == nil) &&
		(m.set != "" && m.set == n.set || maps.Equal(m.jobs, n.jobs))
}

// place is where a replica stands in the order.
type place struct {
	rank  int32 // 0 claims first
	among int32 // members that are in the order, this one included; 0 and 1 are the same
	first int32 // of the members of the ranking, the one that claims first; of no meaning with rank 0
}

// of returns the place of this replica for a job with that revision and weight, not counting the
// members that it leaves out. Those that have another definition of the job count among themselves:
// they may not know its ticks. Those that can never run it, for its weight, are last. A replica
// that is not a member, as far as it knows, is first.
func (r *ranking) of(job, revision string, weight int, except ...string) place {
	if r == nil {
		return place{}
	}
	p, self := place{}, -1
	serve := func(m *member) bool {
		for _, id := range except {
			if m.id == id && m.id != r.self {
				return false
			}
		}
		return m.id == r.self || m.jobs == nil || m.jobs[job] == revision
	}
	key := hashOf(job)
	for i := range r.members {
		if r.members[i].id == r.self {
			self = i
		}
	}
	if self < 0 {
		return p
	}
	mine, highest := r.members[self].scoreOf(key, weight), math.Inf(-1)
	for i := range r.members {
		m := &r.members[i]
		if !serve(m) {
			continue
		}
		p.among++
		score := m.scoreOf(key, weight)
		if score > mine || score == mine && m.id < r.self {
			p.rank++
		}
		if score > highest || score == highest && m.id < r.members[p.first].id {
			p.first, highest = int32(i), score //nolint:gosec // a fleet has fewer members
		}
	}
	return p
}

// without is the place when a member is left out, if that follows from the place with it.
func (r *ranking) without(p place, id string) (q place, ok bool) {
	switch {
	case r == nil || p.among < 2:
		return p, true
	case p.rank > 0 && r.members[p.first].id == id:
		return place{rank: p.rank - 1, among: p.among - 1}, true
	}
	return p, p.rank == 0 // it is still first
}

// score is how much a member is preferred for what hashes to key.
func (m *member) score(key uint64) float64 {
	const bits = 53 // of a float64's fraction
	uniform := (float64(mix(m.hash+mix(key))>>(64-bits)) + 0.5) / (1 << bits)
	return -m.weight / math.Log(uniform)
}

// scoreOf is how much a member is preferred for a job of that weight: below 0 if it can never run
// it.
func (m *member) scoreOf(key uint64, weight int) float64 {
	score := m.score(key)
	if m.room != 0 && weight > m.room {
		return -1 / score
	}
	return score
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return mix(h.Sum64())
}

// mix makes each bit depend on all bits (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

const (
	// backupDelay is the time between two ranks: for the first to claim, and for the others to
	// receive that it has.
	backupDelay = 250 // ms
	// lastBackup is when the last rank claims, at the latest.
	lastBackup = 2000 // ms
	// takeoverDelay and lastTakeover are the same for a tick whose lease has run out: others wait
	// for it already.
	takeoverDelay = 100 // ms
	lastTakeover  = 500 // ms
)

// backup is how long the replica leaves a tick that is due to those before it, in ms. The last wait
// no longer than last.
func (p place) backup(last int64) int64 { return p.spread(backupDelay, min(last, lastBackup)) }

// takeover is how long it leaves a tick whose lease has run out to those before it.
func (p place) takeover() int64 { return p.spread(takeoverDelay, lastTakeover) }

// spread is the rank times a step, for the ranks for which half of the time until last is enough.
// The others are spread over the rest of it.
func (p place) spread(step, last int64) int64 {
	rank, highest := int64(p.rank), int64(p.among-1)
	if rank == 0 {
		return 0
	}
	full := last / 2 / step // the last rank with the full distance to the one before
	switch {
	case highest*step <= last, rank <= full:
		return rank * step
	default:
		return full*step + (last-full*step)*(rank-full)/(highest-full)
	}
}
