package membership

import (
	"hash/fnv"
	"maps"
	"math"
)

// Ranking says in which order the replicas of a fleet claim a job's ticks, as far as one of them
// knows. It is never changed, only replaced.
//
// The order is weighted rendezvous hashing: each member has a score of its own for each job, and
// the highest is first. The hash is uniform in (0, 1). With the score -weight/ln(hash) a member is
// first for a share of the jobs that is proportional to its weight. A member that comes or goes
// changes the order of no others (Schindelhauer and Schomaker, Weighted Distributed Hash Tables,
// 2005). It depends on the job alone, not on the tick. So the replica that claims a job's next tick
// is the one that knows its record, having changed it last.
type Ranking struct {
	self    string
	Members []Member
}

// Member is a live replica that can claim.
type Member struct {
	ID     string
	weight float64           // above 0
	room   int               // the weight of jobs that it runs at a time; 0: no limit
	jobs   map[string]string // the revisions of those that it serves; nil when they are not known
	set    string            // the digest of those; empty when its heartbeat lists them
	hash   uint64            // of the id
}

// NewRanking returns the ranking of these members as the replica self sees it.
func NewRanking(self string, members []Member) *Ranking {
	for i := range members {
		members[i].hash = hashOf(members[i].ID)
	}
	return &Ranking{self: self, Members: members}
}

// equal reports whether both claim the same in the same order.
func (m Member) equal(n Member) bool {
	return m.ID == n.ID && m.weight == n.weight && m.room == n.room && (m.jobs == nil) == (n.jobs == nil) &&
		(m.set != "" && m.set == n.set || maps.Equal(m.jobs, n.jobs))
}

// Place is where a replica stands in the order.
type Place struct {
	Rank  int32 // 0 claims first
	Among int32 // members that are in the order, this one included; 0 and 1 are the same
	First int32 // of the members of the ranking, the one that claims first; of no meaning with rank 0
}

// Of returns the place of this replica for a job with that revision and weight, not counting the
// members that it leaves out. Those that have another definition of the job count among themselves:
// they may not know its ticks. Those that can never run it, for its weight, are last. A replica
// that is not a member, as far as it knows, is first.
func (r *Ranking) Of(job, revision string, weight int, except ...string) Place {
	if r == nil {
		return Place{}
	}
	p, self := Place{}, -1
	serve := func(m *Member) bool {
		for _, id := range except {
			if m.ID == id && m.ID != r.self {
				return false
			}
		}
		return m.ID == r.self || m.jobs == nil || m.jobs[job] == revision
	}
	key := hashOf(job)
	for i := range r.Members {
		if r.Members[i].ID == r.self {
			self = i
		}
	}
	if self < 0 {
		return p
	}
	mine, highest := r.Members[self].scoreOf(key, weight), math.Inf(-1)
	for i := range r.Members {
		m := &r.Members[i]
		if !serve(m) {
			continue
		}
		p.Among++
		score := m.scoreOf(key, weight)
		if score > mine || score == mine && m.ID < r.self {
			p.Rank++
		}
		if score > highest || score == highest && m.ID < r.Members[p.First].ID {
			p.First, highest = int32(i), score //nolint:gosec // a fleet has fewer members
		}
	}
	return p
}

// First reports whether this replica is a member, and claims a job with that revision first.
func (r *Ranking) First(job, revision string) bool {
	p := r.Of(job, revision, 0)
	return p.Rank == 0 && p.Among > 0
}

// Without is the place when a member is left out, if that follows from the place with it.
func (r *Ranking) Without(p Place, id string) (q Place, ok bool) {
	switch {
	case r == nil || p.Among < 2:
		return p, true
	case p.Rank > 0 && r.Members[p.First].ID == id:
		return Place{Rank: p.Rank - 1, Among: p.Among - 1}, true
	}
	return p, p.Rank == 0 // it is still first
}

// score is how much a member is preferred for what hashes to key.
func (m *Member) score(key uint64) float64 {
	const bits = 53 // of a float64's fraction
	uniform := (float64(mix(m.hash+mix(key))>>(64-bits)) + 0.5) / (1 << bits)
	return -m.weight / math.Log(uniform)
}

// scoreOf is how much a member is preferred for a job of that weight: below 0 if it can never run
// it.
func (m *Member) scoreOf(key uint64, weight int) float64 {
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

// Backup is how long the replica leaves a tick that is due to those before it, in ms. The last wait
// no longer than last.
func (p Place) Backup(last int64) int64 { return p.spread(backupDelay, min(last, lastBackup)) }

// Takeover is how long it leaves a tick whose lease has run out to those before it.
func (p Place) Takeover() int64 { return p.spread(takeoverDelay, lastTakeover) }

// spread is the rank times a step, for the ranks for which half of the time until last is enough.
// The others are spread over the rest of it.
func (p Place) spread(step, last int64) int64 {
	rank, highest := int64(p.Rank), int64(p.Among-1)
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
