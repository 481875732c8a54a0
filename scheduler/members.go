package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/clock"
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/storehealth"

	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/wire"
)

// announcer sends this replica's heartbeats, and reads those of the others.
type announcer struct {
	*Scheduler
	wanted     sleep.Signal // a heartbeat is to be sent now
	sets       *heartbeat.JobSets
	instances  membership.Instances  // of this replica's id
	processes  int                   // with this id, as ReplicaShared said last
	heartbeats membership.Heartbeats // of the members
	offset     time.Duration         // of the clock, as the last heartbeat said it
	last       FleetSeen
	seenBy     *jobSet // what it was made for, with these members; nil where others may make a difference
	seenKinds  map[memberKind]bool
}

// clockWords maps a replica's opinion of the store's clock to its word in heartbeats.
var clockWords = map[clock.State]string{
	clock.Doubted: heartbeat.ClockDoubted, clock.Stepped: heartbeat.ClockStepped, clock.Trusted: heartbeat.ClockTrusted,
}

// run sends heartbeats and reads those of the other replicas, until ctx ends.
func (a *announcer) run(ctx context.Context) {
	started := time.Time{}
	tried := time.Now() // last; at first, when this replica came
	lookedBack := false
	retry := probeEvery // after the first heartbeat has failed
	for {
		silent := time.Since(tried) // it was frozen, unless that is short
		isUp := a.health.IsUp()
		if isUp {
			switch {
			case !lookedBack:
				lookedBack = a.facts.lookBack(a.clock.At(tried), a.jobs.Load().groupSets())
			case !started.IsZero() && silent > 2*wire.HeartbeatInterval(a.ttl):
				a.facts.lookBack(a.clock.Now(), a.jobs.Load().groupSets())
			}
			started = a.sendHeartbeat(started)
		}
		if !started.IsZero() {
			tried = time.Now()
		}
		wait := wire.HeartbeatInterval(a.ttl)
		switch {
		case !isUp && started.IsZero(): // as soon as somebody can read it
			wait = probeEvery
		case started.IsZero():
			wait, retry = min(wait, retry), min(2*retry, wait)
		case a.trust.Holds(), a.peers.Settling(), a.health.IsProbed():
			wait = min(wait, beatEvery)
		}
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			limited, cancel := a.call()
			a.signOff(limited, started)
			cancel()
			t.Stop()
			return
		case <-t.C:
		case <-a.wanted:
		}
		t.Stop()
	}
}

// signOff announces that this replica has stopped, for people who look at it later, and then
// removes it from the members. Without that it would count as a member a little longer, and then as
// dead.
func (a *announcer) signOff(ctx context.Context, started time.Time) {
	if len(a.instances.Others) > 0 {
		return // others use this id: it is theirs
	}
	last := heartbeat.Replica{ID: a.replica, Groups: a.groups, Started: started, Version: a.version, TTL: a.ttl, Stopping: true, Instance: a.epoch,
		Jobs: a.jobs.Load().revisions}
	last.Set, _ = a.sets.Publish(ctx, last.Jobs)
	_ = a.store.SendHeartbeat(ctx, a.replica, last.Encode(), wire.MissedHeartbeats*wire.HeartbeatInterval(a.ttl))
	_ = a.store.SendHeartbeat(ctx, a.replica, nil, 0)
}

// sharedBy reports how many processes use this replica's id, if that has changed.
func (a *announcer) sharedBy(processes int) {
	if processes != max(a.processes, 1) {
		a.observe(ReplicaShared{Replica: a.replica, Processes: processes})
	}
	a.processes = processes
}

// sendHeartbeat sends a heartbeat and reads those of the others. It ignores errors, which only make
// the others notice this replica later. It returns the fleet time since which this replica has
// taken part: before, or the time of this heartbeat if before is zero. It returns the zero time
// until a heartbeat has arrived.
func (a *announcer) sendHeartbeat(before time.Time) (started time.Time) {
	// The heartbeat says what the store's clock is like. Where the clock was trusted just now, its
	// bounds are enough for that.
	if (before.IsZero() || a.trust.Holds()) && !a.look() {
		return before
	}
	ctx, cancel := a.call()
	defer cancel()
	now, me := a.heartbeat(before)
	me.Set, _ = a.sets.Publish(ctx, me.Jobs) // if that fails, the others do not know the jobs until it is tried again
	if !a.beatAndRead(ctx, now, me) {
		return before
	}
	a.takeMembers(ctx)
	return me.Started
}

// heartbeat returns the store's time and this replica's heartbeat. It has taken part since before,
// or since now if before is zero.
func (a *announcer) heartbeat(before time.Time) (now time.Time, me heartbeat.Replica) {
	every := wire.HeartbeatInterval(a.ttl)
	others := a.instances.Ages(every)
	a.sharedBy(len(others) + 1)
	now, v := a.view()
	if before.IsZero() {
		before = now
	}
	load := a.Capacity()
	return now, heartbeat.Replica{ // the same as before, mostly, so that others need not decode it: more than twice the limit is enough
		Instance: a.epoch, Others: others,
		ID: a.replica, Groups: a.groups, Started: before, Version: a.version, Module: a.module, ClockOffset: a.saidOffset(time.Until(now)),
		TTL: a.ttl, Running: a.renewer.Held(), MaxRuns: load.MaxRuns, Used: load.Used, Waiting: load.Waiting, Stopping: a.stopping.Load(),
		Jobs: a.jobs.Load().revisions, Failing: a.failing.List(now),
		Life: wire.MissedHeartbeats * every, Clock: clockWords[v.State], Step: v.By, Steady: v.Said(a.trust.Limit),
	}
}

// beatAndRead sends a heartbeat, looks at the store's clock, and reads the members if they have
// changed. It reports whether the heartbeat was accepted. A heartbeat that arrives after a step of
// the store's clock does not count, because it would say that this replica trusts that clock.
func (a *announcer) beatAndRead(ctx context.Context, now time.Time, me heartbeat.Replica) (announced bool) {
	h, info := &a.heartbeats, me.Encode()
	beat := protocol.Heartbeat{
		Holder: a.replica, Info: info, Life: me.Life, Before: h.Announced, Version: h.Version, Known: h.Known(),
		NotBefore: now.Add(-a.trust.Limit), NotAfter: now.Add(a.trust.Limit),
	}
	if a.trust.Holds() {
		beat.Version = "" // the time of each heartbeat is needed, too
	}
	sent := time.Now()
	p, err := a.store.Heartbeat(ctx, beat)
	received := time.Now()
	if err != nil {
		a.look() // that may be for memory that is full, so it says nothing about whether the store answers
		return false
	}
	a.sawTime(sent, received, p.Now, p.Since)
	if p.OutOfBounds {
		a.answered(storehealth.Reads, received.Sub(sent), nil)
		return false
	}
	a.answered(storehealth.Writes, received.Sub(sent), nil)
	h.Announced = protocol.InfoDigest(info)
	if p.Other != nil {
		a.instances.Take(p.Other, a.epoch, received)
	}
	if p.Members != nil {
		h.FillIn(p.Members)
		h.Take(p.Members, p.Version)
	}
	return true
}

// takeMembers acts on the heartbeats of the members.
func (a *announcer) takeMembers(ctx context.Context) {
	replicas, unread := a.heartbeats.List, a.heartbeats.Unread
	_ = a.sets.Resolve(ctx, replicas) // what it cannot read stays unknown until the next heartbeat
	a.judgeClock(replicas)
	if a.peers.Read(replicas) {
		a.reranked()
	}
	a.syncer.lookAhead()
	a.facts.living.Store(int32(len(replicas) + unread))
	seen := a.seenOf(a.jobs.Load(), replicas, unread)
	seen.Changed = seen.Replicas != a.last.Replicas || !slices.Equal(seen.Unserved, a.last.Unserved) ||
		!slices.Equal(seen.Differ, a.last.Differ) || !slices.Equal(seen.Foreign, a.last.Foreign)
	a.last = seen
	a.observe(seen)
}

// sameOffset is how much the clock's offset may change before heartbeats say so. A heartbeat that
// stays equal need not be read again.
const sameOffset = 10 * time.Millisecond

// saidOffset returns the offset that the heartbeat gives for an offset of the clock.
func (a *announcer) saidOffset(offset time.Duration) time.Duration {
	if (offset - a.offset).Abs() > sameOffset {
		a.offset = offset
	}
	return a.offset
}

// memberKind is the part of a heartbeat that FleetSeen depends on.
type memberKind struct {
	set, module string
	stopping    bool
}

// seenOf sums up what the heartbeats of live replicas say about this replica's jobs. unread more
// replicas have heartbeats that this program cannot read.
func (a *announcer) seenOf(jobs *jobSet, replicas []heartbeat.Replica, unread int) FleetSeen {
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
	if a.seenBy == jobs && all && !unsure && maps.Equal(kinds, a.seenKinds) { // as mostly
		seen.Unserved, seen.Differ, seen.Foreign = a.last.Unserved, a.last.Differ, a.last.Foreign
		return seen
	}
	a.seenBy, a.seenKinds = nil, nil
	if all && !unsure {
		a.seenBy, a.seenKinds = jobs, kinds
	}
	served, differ, foreign := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, r := range distinct {
		isForeign := r.Module != "" && a.module != "" && !within(r.Module, a.module) && !within(a.module, r.Module)
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
