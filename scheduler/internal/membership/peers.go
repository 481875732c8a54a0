// Package membership knows which replicas of the fleet live and claim ([Heartbeats], [Peers]), and in
// which order they claim the ticks of a job ([Ranking]).
package membership

import (
	"github.com/solotick/solotick/scheduler/internal/reports"

	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
)

// Peers is what a replica knows of the other replicas that claim. It is a hint: if it is wrong,
// ticks start late or claims are made in vain, and the record decides.
type Peers struct {
	self     string
	reliable time.Duration // for how long the members that were read are good
	ranking  atomic.Pointer[Ranking]
	readAt   atomic.Int64 // when the members were read last, by the monotonic clock since base
	base     time.Time

	Work reports.Backlogs

	mu       sync.Mutex
	first    time.Time                // when the members were read first
	last     time.Time                // when they were read last
	watched  time.Duration            // for how long they have been read, without the times when they could not be
	departed map[string]time.Time     // instances that have said that they leave, and when
	seen     map[string]time.Duration // when a replica was read as living last, by its id: what watched was
}

// SettleTime is how long after their first read the members must be read again before they count. A
// replica that leaves just before this one subscribes to reports is still read as a member.
const SettleTime = 500 * time.Millisecond

// NewPeers returns the Peers of the replica self. Members count for that long after they were read.
func NewPeers(self string, reliable time.Duration) *Peers {
	return &Peers{self: self, reliable: reliable, base: time.Now(), departed: map[string]time.Time{}, seen: map[string]time.Duration{}}
}

// Current returns the ranking, or nil if the members are not known or were read too long ago.
func (p *Peers) Current() *Ranking {
	r := p.ranking.Load()
	if r == nil || time.Since(p.base)-time.Duration(p.readAt.Load()) > p.reliable {
		return nil
	}
	return r
}

// Alone reports whether this replica knows that no other one claims.
func (p *Peers) Alone() bool {
	r := p.Current()
	return r != nil && len(r.Members) < 2
}

// Settling reports whether the members were read once and must be read again.
func (p *Peers) Settling() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.first.IsZero() && p.ranking.Load() == nil
}

// Read updates the ranking from the live replicas, and reports whether it has changed.
func (p *Peers) Read(replicas []heartbeat.Replica) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watched += min(time.Since(p.last), p.reliable/2) // more than between two heartbeats
	p.last = time.Now()
	for _, r := range replicas {
		if _, departed := p.departed[r.Instance]; !departed && !r.Stopping {
			p.seen[r.ID] = p.watched
		}
	}
	switch {
	case p.first.IsZero():
		p.first = time.Now()
		return false
	case time.Since(p.first) < SettleTime:
		return false
	}
	p.readAt.Store(int64(time.Since(p.base)))
	for instance, at := range p.departed { // its heartbeats have ended by now
		if time.Since(at) > 2*p.reliable {
			delete(p.departed, instance)
		}
	}
	p.Work.Forget(replicas)
	largest := 1
	for _, r := range replicas {
		largest = max(largest, r.MaxRuns)
	}
	var members []Member
	for _, r := range replicas {
		if _, departed := p.departed[r.Instance]; departed || !canClaim(r) {
			continue
		}
		m := Member{ID: r.ID, weight: weightOf(r.MaxRuns, largest), room: r.MaxRuns, jobs: r.Jobs, set: r.Set}
		switch {
		case len(r.Jobs) < r.JobCount:
			m.jobs = nil // not all are known
		case m.jobs == nil:
			m.jobs = map[string]string{} // it has none
		}
		members = append(members, m)
	}
	return p.replaceLocked(members)
}

// weightOf returns the share of the ticks that a replica claims first: its capacity, or that of the
// largest if it has no limit.
func weightOf(maxRuns, largest int) float64 {
	if maxRuns == 0 {
		return float64(largest)
	}
	return float64(maxRuns)
}

// canClaim reports whether a replica can be expected to claim due ticks.
func canClaim(r heartbeat.Replica) bool {
	return !r.Stopping && (r.Clock == "" || r.Clock == heartbeat.ClockTrusted)
}

// Leave removes a replica that claims nothing more, and reports whether the ranking has changed.
func (p *Peers) Leave(replica, instance string) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.departed[instance] = time.Now()
	delete(p.seen, replica)
	r := p.ranking.Load()
	if r == nil || replica == p.self {
		return false
	}
	members := slices.DeleteFunc(slices.Clone(r.Members), func(m Member) bool { return m.ID == replica })
	return p.replaceLocked(members)
}

// Alive returns the ids of the replicas that were recently read as live, with or without this one.
// A store that has lost a part of its data may have lost heartbeats. A store that was away and
// restored from a backup has no heartbeat that is still good, so what counts is who was alive
// before.
func (p *Peers) Alive() (ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, at := range p.seen {
		if p.watched-at > p.reliable {
			delete(p.seen, id)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}

func (p *Peers) replaceLocked(members []Member) (changed bool) {
	before := p.ranking.Load()
	after := NewRanking(p.self, members)
	if before != nil && slices.EqualFunc(before.Members, after.Members, Member.equal) {
		return false
	}
	p.ranking.Store(after)
	return true
}
