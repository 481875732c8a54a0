package scheduler

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/lease/protocol"
)

// announce says that this replica lives, and looks who else does, until ctx ends.
func (s *Scheduler) announce(ctx context.Context) {
	roster, ok := s.store.(protocol.Roster)
	if !ok {
		return
	}
	started := time.Time{}
	tried := time.Now() // last; at first, when this replica came
	lookedBack := false
	retry := probeEvery // after the first heartbeat has failed
	for {
		silent := time.Since(tried) // it was frozen, unless that is short
		isUp := s.health.isUp()
		if isUp {
			switch {
			case !lookedBack:
				lookedBack = s.lookBack(roster, s.clock.at(tried))
			case !started.IsZero() && silent > 2*wire.HeartbeatInterval(s.term):
				s.lookBack(roster, s.clock.now())
			}
			started = s.announceOnce(roster, started)
		}
		if !started.IsZero() {
			tried = time.Now()
		}
		wait := wire.HeartbeatInterval(s.term)
		switch {
		case !isUp && started.IsZero(): // as soon as somebody can read it
			wait = probeEvery
		case started.IsZero():
			wait, retry = min(wait, retry), min(2*retry, wait)
		case s.trust.holds(), s.peers.settling():
			wait = min(wait, beatEvery)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			limited, cancel := s.call()
			s.signOff(limited, roster, started)
			cancel()
			t.Stop()
			return
		case <-t.C:
		case <-s.announces:
		}
		t.Stop()
	}
}

// signOff says that this replica has stopped, for those who look at it later, and then that it is gone; without that it is
// gone a little later, and looks dead.
func (s *Scheduler) signOff(ctx context.Context, roster protocol.Roster, started time.Time) {
	if len(s.instances.others) > 0 {
		return // others use this id: it is theirs
	}
	last := fleet.Replica{ID: s.replica, Groups: s.groups, Started: started, Version: s.version, Term: s.term, Stopping: true, Instance: s.epoch,
		Jobs: s.jobs.Load().revisions}
	last.Set, _ = s.sets.Publish(ctx, last.Jobs)
	_ = roster.Announce(ctx, s.replica, last.Encode(), wire.MissedHeartbeats*wire.HeartbeatInterval(s.term))
	_ = roster.Announce(ctx, s.replica, nil, 0)
}

// shared reports, whenever that changes, how many processes use this replica's id.
func (s *Scheduler) shared(processes int) {
	if processes != max(s.processes, 1) {
		s.observe(ReplicaShared{Replica: s.replica, Processes: processes})
	}
	s.processes = processes
}

// announceOnce sends a heartbeat and reads those of the others. It ignores errors: others know of this replica a little
// later. It returns since when, by fleet time, this replica has taken part: before, unless that is zero. It returns zero
// while no heartbeat has arrived.
func (s *Scheduler) announceOnce(roster protocol.Roster, before time.Time) (started time.Time) {
	if !s.look() { // the heartbeat says what the store's clock is like
		return before
	}
	ctx, cancel := s.call()
	defer cancel()
	jobs := s.jobs.Load()
	others := s.instances.look(ctx, roster, &s.heartbeats, s.replica, s.epoch, wire.HeartbeatInterval(s.term))
	s.shared(len(others) + 1)
	now, clock := s.clockView()
	if started = before; started.IsZero() {
		started = now
	}
	load := s.Capacity()
	me := fleet.Replica{ // the same as before, mostly, so that others need not decode it: more than twice the limit is enough
		Instance: s.epoch, Others: others,
		ID: s.replica, Groups: s.groups, Started: started, Version: s.version, Module: s.module, ClockOffset: s.saidOffset(time.Until(now)),
		Term: s.term, Running: s.keeper.Held(), MaxRuns: load.MaxRuns, Used: load.Used, Waiting: load.Waiting, Stopping: s.stopping.Load(), Jobs: jobs.revisions,
		Life: wire.MissedHeartbeats * wire.HeartbeatInterval(s.term), Clock: clockWords[clock.state], Step: clock.by, Steady: clock.said(s.trust.limit),
	}
	me.Set, _ = s.sets.Publish(ctx, me.Jobs) // if that fails, the others do not know the jobs until it is tried again
	if roster.Announce(ctx, s.replica, me.Encode(), me.Life) != nil {
		return before
	}
	members, err := s.heartbeats.read(ctx, roster)
	if err != nil {
		return started
	}
	replicas, unread := s.heartbeats.live(members)
	_ = s.sets.Resolve(ctx, replicas) // what it cannot read stays unknown until the next heartbeat
	s.judgeClock(replicas)
	s.rank(replicas)
	s.lookAhead()
	s.living.Store(int32(len(replicas) + unread))
	seen := s.seenOf(jobs, replicas, unread)
	seen.Changed = seen.Replicas != s.seen.Replicas || !slices.Equal(seen.Unserved, s.seen.Unserved) ||
		!slices.Equal(seen.Differ, s.seen.Differ) || !slices.Equal(seen.Foreign, s.seen.Foreign)
	s.seen = seen
	s.observe(seen)
	return started
}

// sameOffset is how far apart two offsets of the clock are of which heartbeats say the first: others need not read those anew.
const sameOffset = 10 * time.Millisecond

// saidOffset is what the heartbeat says for an offset of the clock.
func (s *Scheduler) saidOffset(offset time.Duration) time.Duration {
	if (offset - s.offset).Abs() > sameOffset {
		s.offset = offset
	}
	return s.offset
}

// seenOf sums up what the heartbeats of live replicas say about this replica's jobs. Of so many more nothing is known.
func (s *Scheduler) seenOf(jobs *jobSet, replicas []fleet.Replica, unread int) FleetSeen {
	seen := FleetSeen{Replicas: len(replicas) + unread}
	served, differ, foreign := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	unsure := unread > 0 // somebody may serve more jobs than is known
	type kind struct {
		set, module string
		stopping    bool
	}
	looked := make(map[kind]bool)
	for _, r := range replicas {
		seen.Replicas += len(r.Others)
		unsure = unsure || len(r.Jobs) < r.JobCount
		k := kind{r.Set, r.Module, r.Stopping}
		if r.Set != "" && r.Jobs != nil && looked[k] {
			continue
		}
		looked[k] = true
		isForeign := r.Module != "" && s.module != "" && r.Module != s.module
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

// groupsOf returns groups, sorted, each once.
func groupsOf(groups []string) []string {
	groups = slices.Clone(groups)
	slices.SortFunc(groups, strings.Compare)
	return slices.Compact(groups)
}
