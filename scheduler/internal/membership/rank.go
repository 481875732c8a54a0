package membership

import (
	"hash/fnv"
	"maps"
	"math"
)

// Ranking is the order in which the replicas of a fleet claim the ticks of a job, as one of them
// knows it. It is never changed, only replaced.
//
// The order is weighted rendezvous hashing. Each member has a score for each job, and the highest
// comes first. With a hash that is uniform in (0, 1) and the score -weight/ln(hash), a member comes
// first for a share of the jobs that is proportional to its weight, and a member that comes or goes
// does not change the order of the others (Schindelhauer and Schomaker, Weighted Distributed Hash
// Tables, 2005). The order depends on the job and not on the tick. So the replica that claims the
// next tick is the one that changed the record last, and knows it.
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

// NewRanking returns the ranking of members, as the replica self uses it.
func NewRanking(self string, members []Member) *Ranking {
	for i := range members {
		members[i].hash = hashOf(members[i].ID)
	}
	return &Ranking{self: self, Members: members}
}

// equal reports whether both members claim the same jobs with the same weight.
func (m Member) equal(n Member) bool {
	return m.ID == n.ID && m.weight == n.weight && m.room == n.room && (m.jobs == nil) == (n.jobs == nil) &&
		(m.set != "" && m.set == n.set || maps.Equal(m.jobs, n.jobs))
}

// Place is the position of a replica in the order.
type Place struct {
	Rank  int32 // 0 claims first
	Among int32 // members that are in the order, this one included; 0 and 1 are the same
	First int32 // of the members of the ranking, the one that claims first; of no meaning with rank 0
}

// Of returns the place of this replica for a job with that revision and weight. It ignores the
// members in except, and those that have another definition of the job, because they may not know
// its ticks. Members that are too small for the job come last. A replica that is not a member, as
// far as it knows, comes first.
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

// First reports whether this replica is a member and claims a job with that revision first.
func (r *Ranking) First(job, revision string) bool {
	p := r.Of(job, revision, 0)
	return p.Rank == 0 && p.Among > 0
}

// Without returns the place p with one member less, and false if that cannot be derived from p.
func (r *Ranking) Without(p Place, id string) (q Place, ok bool) {
	switch {
	case r == nil || p.Among < 2:
		return p, true
	case p.Rank > 0 && r.Members[p.First].ID == id:
		return Place{Rank: p.Rank - 1, Among: p.Among - 1}, true
	}
	return p, p.Rank == 0 // it is still first
}

// score returns how much the member is preferred for the hash key.
func (m *Member) score(key uint64) float64 {
	const bits = 53 // of a float64's fraction
	uniform := (float64(mix(m.hash+mix(key))>>(64-bits)) + 0.5) / (1 << bits)
	return -m.weight / math.Log(uniform)
}

// scoreOf returns how much the member is preferred for a job of that weight. It is below 0 if the
// member is too small for it.
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
	// backupDelay is the time between two ranks, in which the first one claims and the others
	// receive its report.
	backupDelay = 250 // ms
	// lastBackup is the longest wait of the last rank.
	lastBackup = 2000 // ms
	// takeoverDelay and lastTakeover are the same for a tick whose lease has run out. They are
	// shorter because others wait for the tick already.
	takeoverDelay = 100 // ms
	lastTakeover  = 500 // ms
)

// Backup returns how long the replica leaves a due tick to those before it, in ms. The last rank
// waits for at most last.
func (p Place) Backup(last int64) int64 { return p.spread(backupDelay, min(last, lastBackup)) }

// Takeover returns how long it leaves a tick whose lease has run out to those before it, in ms.
func (p Place) Takeover() int64 { return p.spread(takeoverDelay, lastTakeover) }

// spread returns the rank times step, for the ranks that come within half of last. The other ranks
// share the rest of that time.
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
