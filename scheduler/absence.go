package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/plan"

	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// lastHeartbeat is the newest heartbeat of the replicas that serve a set of groups.
type lastHeartbeat struct {
	at    time.Time
	by    string
	every time.Duration // between two of them
}

// lookBack notes that for a while no replica sent heartbeats, or none that serves the groups of
// some job. This replica is about to send its first heartbeat, or its first after a silence. came
// is the fleet time at which it could have sent one, so the time after that counts as the store's
// absence. It returns false if the store does not answer.
func (s *Scheduler) lookBack(came time.Time) bool {
	ctx, cancel := s.call()
	defer cancel()
	living, err := s.store.Members(ctx)
	if err != nil {
		return false
	}
	former, err := s.store.FormerMembers(ctx)
	if err != nil {
		return false
	}
	replicas := slices.Concat(living, former)
	for _, groups := range s.groupSets() {
		last := newestHeartbeat(replicas, groups)
		// One heartbeat that is missing is not one that is late.
		if last.by == "" || came.Sub(last.at) <= last.every+last.every/4+leastAway {
			continue
		}
		s.facts.add("", fleet.Fact{
			Kind: wire.FactAbsent, By: s.replica, From: last.at, To: came, Replica: last.by, Groups: groups,
		})
	}
	return true
}

// groupSets returns each set of groups that jobs of this replica name, sorted. The empty set, which
// every replica serves, comes first.
func (s *Scheduler) groupSets() [][]string {
	sets := [][]string{nil}
	known := map[string]bool{"[]": true}
	add := func(groups []string) {
		groups = groupsOf(groups)
		if text := fmt.Sprint(groups); !known[text] {
			known[text] = true
			sets = append(sets, groups)
		}
	}
	all := s.jobs.Load()
	for _, c := range all.contenders {
		c.mu.Lock()
		groups := c.Job.Spec().Groups
		c.mu.Unlock()
		add(groups)
	}
	for _, l := range all.leaders {
		add(l.job.Spec().Groups)
	}
	return sets
}

// newestHeartbeat returns the newest known heartbeat of a replica that serves one of the groups.
func newestHeartbeat(replicas []protocol.Member, groups []string) (last lastHeartbeat) {
	for _, m := range replicas {
		r, err := heartbeat.Decode(m.Info)
		if m.LastHeartbeat.Before(last.at) || err == nil && !serves(r.Groups, groups) {
			continue
		}
		last = lastHeartbeat{at: m.LastHeartbeat, by: m.Holder, every: wire.HeartbeatInterval(r.TTL)}
	}
	return last
}

// noteEdit notes that this replica was the first to bring the schedule of a job, if its sync
// changed the record.
func (s *Scheduler) noteEdit(name string, job *jobs.Job, r protocol.Record, sent, received time.Time) {
	const precision = 2 * time.Millisecond // of fleet time
	n := len(r.Schedules)                  // a record that another has just made has one, and was not edited
	if r.Made || n < 2 || r.Revised.Before(s.clock.At(sent).Add(-precision)) || r.Revised.After(s.clock.At(received).Add(precision)) {
		return
	}
	s.facts.add(name, fleet.Fact{
		Kind: wire.FactEdited, By: s.replica, From: r.Revised,
		Schedule: readable(plan.ScheduleText(job)), Before: readable(r.Schedules[n-2].Text),
	})
}

// readable returns the text of a schedule as one line.
func readable(text string) string { return strings.Join(strings.Fields(text), " ") }
