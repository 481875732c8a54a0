package membership

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"
	"sync"
)

// Ranking is the order in which the replicas of a fleet claim the ticks of a job, as one of them
// knows it. It is never changed, only replaced.
//
// The first is chosen by weighted rendezvous hashing. Each member has a score for each job, and the
// highest comes first. With a hash that is uniform in (0, 1) and the score -weight/ln(hash), a
// member comes first for a share of the jobs that is proportional to its weight, and a member that
// comes or goes takes or leaves its own share only (Schindelhauer and Schomaker, Weighted
// Distributed Hash Tables, 2005). Loads are bounded: a job goes to the next member if the first has
// mostLoad of its share already (Mirrokni, Thorup and Zadimoghaddam, Consistent Hashing with
// Bounded Loads, 2016).
//
// Then come the deputies of the first, and then the others, both by score. A member has the same
// deputies for all jobs, so that what it says about its jobs concerns few others; if it is gone,
// each deputy comes first for a part of its jobs.
//
// All replicas that know the same members and jobs compute the same order. If they know different
// ones, ticks start late or claims are made in vain. The order depends on the job and not on the
// tick. So the replica that claims the next tick is the one that changed the record last, and knows
// it.
type Ranking struct {
	self    string
	Members []Member
	me      int     // the index of self; -1 if it is no member
	kinds   []*kind // of the members
	even    bool    // all have one weight
	least   int     // the room of the smallest

	mu      sync.Mutex
	classes map[class]*choice
}

// Member is a live replica that can claim.
type Member struct {
	ID     string
	weight float64           // above 0
	room   int               // the weight of jobs that it runs at a time; 0: no limit
	jobs   map[string]string // the revisions of those that it serves; nil when they are not known
	set    string            // the digest of those; empty when its heartbeat lists them
	hash   uint64            // of the id
	kind   int               // the index of its kind
}

// kind is a set of jobs that some members serve.
type kind struct {
	set  string
	jobs map[string]string // nil when they are not known
}

// class is who serves a job: members of these kinds, and this replica.
type class uint64

// choice is what was chosen for the jobs of a class.
type choice struct {
	owners map[string]int // of those jobs that another than the highest score comes first for
	groups map[int]group  // by the member that comes first
	parted bool           // only the first members act about the jobs
}

// group is a member that comes first, and its deputies.
type group struct {
	deputies []int
	others   []string // the ids of all of them but this replica
}

const (
	// mostKinds is how many kinds are told apart. Members of further ones count as serving nothing.
	mostKinds = 64
	// mostLoad is how much of its share of the jobs a member comes first for at most.
	mostLoad = 1.2
	// Near is how many of a large fleet act about a job, and hear what the others do: the first ones in
	// its order.
	Near = 7
	// together is how many members serve a job at most for all of them to act about it.
	together = 16
)

// NewRanking returns the ranking of members, as the replica self uses it.
func NewRanking(self string, members []Member) *Ranking {
	r := &Ranking{self: self, Members: members, me: -1, even: true, least: math.MaxInt, classes: make(map[class]*choice)}
	for i := range members {
		m := &members[i]
		m.hash = hashOf(m.ID)
		r.even = r.even && m.weight == members[0].weight
		if m.room != 0 {
			r.least = min(r.least, m.room)
		}
		if m.ID == self {
			r.me = i
		}
		m.kind = slices.IndexFunc(r.kinds, func(k *kind) bool { return m.serves(k.set, k.jobs) })
		if m.kind < 0 {
			m.kind = len(r.kinds)
			r.kinds = append(r.kinds, &kind{m.set, m.jobs})
		}
	}
	return r
}

// serves reports whether the member serves these jobs.
func (m *Member) serves(set string, jobs map[string]string) bool {
	return (m.jobs == nil) == (jobs == nil) && (m.set != "" && m.set == set || maps.Equal(m.jobs, jobs))
}

// equal reports whether both members claim the same jobs with the same weight.
func (m Member) equal(n Member) bool {
	return m.ID == n.ID && m.weight == n.weight && m.room == n.room && m.serves(n.set, n.jobs)
}

// classOf returns the class of a job with that revision.
func (r *Ranking) classOf(job, revision string) (c class) {
	for i, k := range r.kinds[:min(len(r.kinds), mostKinds)] {
		if k.jobs == nil || k.jobs[job] == revision {
			c |= 1 << i
		}
	}
	return c
}

func (r *Ranking) in(c class, i int) bool { return i == r.me || c>>r.Members[i].kind&1 != 0 }

// choiceOf returns what was chosen for a class.
func (r *Ranking) choiceOf(c class) *choice {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.classes[c] == nil {
		members := 0
		for i := range r.Members {
			if r.in(c, i) {
				members++
			}
		}
		r.classes[c] = &choice{r.bound(c), make(map[int]group), members > together}
	}
	return r.classes[c]
}

// best returns the member of a class with the highest score for the hash key, of those that may be.
func (r *Ranking) best(c class, key uint64, may func(i int) bool) (best int) {
	best, highest := -1, 0.0
	for i := range r.Members {
		if r.in(c, i) && (may == nil || may(i)) {
			score := r.score(i, key)
			if best < 0 || score > highest || score == highest && r.Members[i].ID < r.Members[best].ID {
				best, highest = i, score
			}
		}
	}
	return best
}

// firstOf returns the member that comes first for a job of a class, its group, and whether the others
// leave the job to them.
func (r *Ranking) firstOf(c class, job string) (owner int, g group, parted bool) {
	chosen := r.choiceOf(c)
	owner, ok := chosen.owners[job]
	if !ok {
		owner = r.best(c, hashOf(job), nil)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if g, ok = chosen.groups[owner]; !ok {
		g = r.groupOf(c, owner)
		chosen.groups[owner] = g
	}
	return owner, g, chosen.parted
}

func (r *Ranking) groupOf(c class, owner int) (g group) {
	for next := owner; next >= 0; {
		if next != owner {
			g.deputies = append(g.deputies, next)
		}
		if next != r.me {
			g.others = append(g.others, r.Members[next].ID)
		}
		if len(g.deputies) == Near-1 {
			break
		}
		next = r.best(c, r.Members[owner].hash, func(i int) bool { return i != owner && !slices.Contains(g.deputies, i) })
	}
	return g
}

// Place is the position of a replica in the order.
type Place struct {
	Rank  int32 // 0 claims first
	Among int32 // members that are in the order, this one included; 0 and 1 are the same
	First int32 // of the members of the ranking, the one that claims first; of no meaning with rank 0
	Far   bool  // this replica leaves the job to the first ones
}

// standing decides the position of a member in the order of a job.
type standing struct {
	member int
	tier   int // 0: the first, 1: a deputy, 2: another; 3 more for those that are too small
	score  float64
}

// order has the members that can claim a job with that revision and weight, in no order.
func (r *Ranking) order(job, revision string, weight int, except []string) iter.Seq[standing] {
	c, key := r.classOf(job, revision), hashOf(job)
	owner, group, _ := r.firstOf(c, job)
	return func(yield func(standing) bool) {
		for i := range r.Members {
			m := &r.Members[i]
			if !r.in(c, i) || i != r.me && slices.Contains(except, m.ID) {
				continue
			}
			s := standing{member: i, tier: 2, score: r.score(i, key)}
			switch {
			case i == owner:
				s.tier = 0
			case slices.Contains(group.deputies, i):
				s.tier = 1
			}
			if m.room != 0 && weight > m.room {
				s.tier += 3
			}
			if !yield(s) {
				return
			}
		}
	}
}

func (r *Ranking) compare(a, b standing) int {
	return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(b.score, a.score), cmp.Compare(r.Members[a.member].ID, r.Members[b.member].ID))
}

// Of returns the place of this replica for a job with that revision and weight. It ignores the
// members in except, and those that have another definition of the job, because they may not know
// its ticks. Members that are too small for the job come last. A replica that is not a member, as
// far as it knows, comes first.
func (r *Ranking) Of(job, revision string, weight int, except ...string) (p Place) {
	if r == nil || r.me < 0 {
		return p
	}
	order := r.order(job, revision, weight, except)
	var mine, first standing
	for s := range order {
		if p.Among == 0 || r.compare(s, first) < 0 {
			first = s
		}
		if s.member == r.me {
			mine = s
		}
		p.Among++
	}
	for s := range order {
		if r.compare(s, mine) < 0 {
			p.Rank++
		}
	}
	p.First = int32(first.member) //nolint:gosec // a fleet has fewer members
	p.Far = p.Rank >= Near && r.choiceOf(r.classOf(job, revision)).parted
	return p
}

// Near returns who acts about a job besides this replica: the first members in its order. It
// returns nil for all, if few serve the job or this replica does not know them.
func (r *Ranking) Near(job, revision string, weight int, except ...string) (ids []string) {
	if r == nil || r.me < 0 {
		return nil
	}
	_, g, parted := r.firstOf(r.classOf(job, revision), job)
	switch {
	case !parted:
		return nil
	case len(except) == 0 && weight <= r.least:
		return g.others
	}
	ids = make([]string, 0, Near)
	list := slices.SortedFunc(r.order(job, revision, weight, except), r.compare)
	for _, s := range list[:min(Near, len(list))] {
		if s.member != r.me {
			ids = append(ids, r.Members[s.member].ID)
		}
	}
	return ids
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

// score returns how much a member is preferred for the hash key.
func (r *Ranking) score(i int, key uint64) float64 {
	const bits = 53 // of a float64's fraction
	uniform := (float64(mix(r.Members[i].hash+mix(key))>>(64-bits)) + 0.5) / (1 << bits)
	if r.even {
		return uniform // the order is the same
	}
	return -r.Members[i].weight / math.Log(uniform)
}

// hashOf is FNV-1a, mixed.
func hashOf(text string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * 1099511628211
	}
	return mix(h)
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
