package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/storehealth"

	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// sendHeartbeats sends heartbeats and reads those of the other replicas, until ctx ends.
func (s *Scheduler) sendHeartbeats(ctx context.Context) {
	started := time.Time{}
	tried := time.Now() // last; at first, when this replica came
	lookedBack := false
	retry := probeEvery // after the first heartbeat has failed
	for {
		silent := time.Since(tried) // it was frozen, unless that is short
		isUp := s.health.IsUp()
		if isUp {
			switch {
			case !lookedBack:
				lookedBack = s.lookBack(s.clock.At(tried))
			case !started.IsZero() && silent > 2*wire.HeartbeatInterval(s.ttl):
				s.lookBack(s.clock.Now())
			}
			started = s.sendHeartbeat(started)
		}
		if !started.IsZero() {
			tried = time.Now()
		}
		wait := wire.HeartbeatInterval(s.ttl)
		switch {
		case !isUp && started.IsZero(): // as soon as somebody can read it
			wait = probeEvery
		case started.IsZero():
			wait, retry = min(wait, retry), min(2*retry, wait)
		case s.trust.Holds(), s.peers.Settling(), s.health.IsProbed():
			wait = min(wait, beatEvery)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			limited, cancel := s.call()
			s.signOff(limited, started)
			cancel()
			t.Stop()
			return
		case <-t.C:
		case <-s.announces:
		}
		t.Stop()
	}
}

// signOff announces that this replica has stopped, for people who look at it later, and then
// removes it from the members. Without that it would count as a member a little longer, and then as
// dead.
func (s *Scheduler) signOff(ctx context.Context, started time.Time) {
	if len(s.instances.Others) > 0 {
		return // others use this id: it is theirs
	}
	last := heartbeat.Replica{ID: s.replica, Groups: s.groups, Started: started, Version: s.version, TTL: s.ttl, Stopping: true, Instance: s.epoch,
		Jobs: s.jobs.Load().revisions}
	last.Set, _ = s.sets.Publish(ctx, last.Jobs)
	_ = s.store.SendHeartbeat(ctx, s.replica, last.Encode(), wire.MissedHeartbeats*wire.HeartbeatInterval(s.ttl))
	_ = s.store.SendHeartbeat(ctx, s.replica, nil, 0)
}

// shared reports how many processes use this replica's id, if that has changed.
func (s *Scheduler) shared(processes int) {
	if processes != max(s.processes, 1) {
		s.observe(ReplicaShared{Replica: s.replica, Processes: processes})
	}
	s.processes = processes
}

// sendHeartbeat sends a heartbeat and reads those of the others. It ignores errors, which only make
// the others notice this replica later. It returns the fleet time since which this replica has
// taken part: before, or the time of this heartbeat if before is zero. It returns the zero time
// until a heartbeat has arrived.
func (s *Scheduler) sendHeartbeat(before time.Time) (started time.Time) {
	// The heartbeat says what the store's clock is like. Where the clock was trusted just now, its
	// bounds are enough for that.
	if (before.IsZero() || s.trust.Holds()) && !s.look() {
		return before
	}
	ctx, cancel := s.call()
	defer cancel()
	now, me := s.heartbeat(before)
	me.Set, _ = s.sets.Publish(ctx, me.Jobs) // if that fails, the others do not know the jobs until it is tried again
	if !s.beatAndRead(ctx, now, me) {
		return before
	}
	s.takeMembers(ctx)
	return me.Started
}

// heartbeat returns the store's time and this replica's heartbeat. It has taken part since before,
// or since now if before is zero.
func (s *Scheduler) heartbeat(before time.Time) (now time.Time, me heartbeat.Replica) {
	every := wire.HeartbeatInterval(s.ttl)
	others := s.instances.Ages(every)
	s.shared(len(others) + 1)
	now, clock := s.clockView()
	if before.IsZero() {
		before = now
	}
	load := s.Capacity()
	return now, heartbeat.Replica{ // the same as before, mostly, so that others need not decode it: more than twice the limit is enough
		Instance: s.epoch, Others: others,
		ID: s.replica, Groups: s.groups, Started: before, Version: s.version, Module: s.module, ClockOffset: s.saidOffset(time.Until(now)),
		TTL: s.ttl, Running: s.renewer.Held(), MaxRuns: load.MaxRuns, Used: load.Used, Waiting: load.Waiting, Stopping: s.stopping.Load(),
		Jobs: s.jobs.Load().revisions, Failing: s.failing.List(now),
		Life: wire.MissedHeartbeats * every, Clock: clockWords[clock.State], Step: clock.By, Steady: clock.Said(s.trust.Limit),
	}
}

// beatAndRead sends a heartbeat, looks at the store's clock, and reads the members if they have
// changed. It reports whether the heartbeat was accepted. A heartbeat that arrives after a step of
// the store's clock does not count, because it would say that this replica trusts that clock.
func (s *Scheduler) beatAndRead(ctx context.Context, now time.Time, me heartbeat.Replica) (announced bool) {
	h, info := &s.heartbeats, me.Encode()
	beat := protocol.Heartbeat{
		Holder: s.replica, Info: info, Life: me.Life, Before: h.Announced, Version: h.Version, Known: h.Known(),
		NotBefore: now.Add(-s.trust.Limit), NotAfter: now.Add(s.trust.Limit),
	}
	if s.trust.Holds() {
		beat.Version = "" // the time of each heartbeat is needed, too
	}
	sent := time.Now()
	p, err := s.store.Heartbeat(ctx, beat)
	received := time.Now()
	if err != nil {
		s.look() // that may be for memory that is full, so it says nothing about whether the store answers
		return false
	}
	s.sawTime(sent, received, p.Now, p.Since)
	if p.OutOfBounds {
		s.answered(storehealth.Reads, received.Sub(sent), nil)
		return false
	}
	s.answered(storehealth.Writes, received.Sub(sent), nil)
	h.Announced = protocol.InfoDigest(info)
	if p.Other != nil {
		s.instances.Take(p.Other, s.epoch, received)
	}
	if p.Members != nil {
		h.FillIn(p.Members)
		h.Take(p.Members, p.Version)
	}
	return true
}

// takeMembers acts on the heartbeats of the members.
func (s *Scheduler) takeMembers(ctx context.Context) {
	replicas, unread := s.heartbeats.List, s.heartbeats.Unread
	_ = s.sets.Resolve(ctx, replicas) // what it cannot read stays unknown until the next heartbeat
	s.judgeClock(replicas)
	s.rank(replicas)
	s.lookAhead()
	s.living.Store(int32(len(replicas) + unread))
	seen := s.seenOf(s.jobs.Load(), replicas, unread)
	seen.Changed = seen.Replicas != s.seen.Replicas || !slices.Equal(seen.Unserved, s.seen.Unserved) ||
		!slices.Equal(seen.Differ, s.seen.Differ) || !slices.Equal(seen.Foreign, s.seen.Foreign)
	s.seen = seen
	s.observe(seen)
}

// sameOffset is how much the clock's offset may change before heartbeats say so. A heartbeat that
// stays equal need not be read again.
const sameOffset = 10 * time.Millisecond

// saidOffset returns the offset that the heartbeat gives for an offset of the clock.
func (s *Scheduler) saidOffset(offset time.Duration) time.Duration {
	if (offset - s.offset).Abs() > sameOffset {
		s.offset = offset
	}
	return s.offset
}

// memberKind is the part of a heartbeat that FleetSeen depends on.
type memberKind struct {
	set, module string
	stopping    bool
}

// seenOf sums up what the heartbeats of live replicas say about this replica's jobs. unread more
// replicas have heartbeats that this program cannot read.
func (s *Scheduler) seenOf(jobs *jobSet, replicas []heartbeat.Replica, unread int) FleetSeen {
	seen := FleetSeen{Replicas: len(replicas) + unread}
	unsure := unread > 0 // somebody may serve more jobs than is known
	kinds, all := make(map[memberKind]bool), true
	var distinct []heartbeat.Replica
	for _, r := range replicas {
		seen.Replicas += len(r.Others)
		unsure = unsure || len(r.Jobs) < r.JobCount
		k := memberKind{r.Set, r.Module, r.Stopping}
		named := r.Set != "" && r.Jobs != nil
		if !named || !kinds[k] {
			distinct = append(distinct, r)
		}
		kinds[k], all = true, all && named
	}
	if s.seenBy == jobs && all && !unsure && maps.Equal(kinds, s.seenKinds) { // as mostly
		seen.Unserved, seen.Differ, seen.Foreign = s.seen.Unserved, s.seen.Differ, s.seen.Foreign
		return seen
	}
	s.seenBy, s.seenKinds = nil, nil
	if all && !unsure {
		s.seenBy, s.seenKinds = jobs, kinds
	}
	served, differ, foreign := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, r := range distinct {
		isForeign := r.Module != "" && s.module != "" && !within(r.Module, s.module) && !within(s.module, r.Module)
		for name, revision := range r.Jobs {
			served[name] = true
			if mine, ok := jobs.all[name]; ok && mine != revision && !r.Stopping {
				differ[name] = true
			}
			if _, mine := jobs.revisions[name]; mine && isForeign {
				foreign[name] = true
			}
		}
	}
	for name := range jobs.all {
		if !served[name] && !unsure {
			seen.Unserved = append(seen.Unserved, name)
		}
	}
	slices.Sort(seen.Unserved)
	seen.Differ, seen.Foreign = slices.Sorted(maps.Keys(differ)), slices.Sorted(maps.Keys(foreign))
	return seen
}

// within reports whether another program is, or may be, the same one. Only the module of a replica
// may be known.
func within(program, other string) bool {
	rest, ok := strings.CutPrefix(program, other)
	return ok && (rest == "" || rest[0] == '/')
}

// groupsOf returns groups sorted and without duplicates.
func groupsOf(groups []string) []string {
	groups = slices.Clone(groups)
	slices.SortFunc(groups, strings.Compare)
	return slices.Compact(groups)
}
