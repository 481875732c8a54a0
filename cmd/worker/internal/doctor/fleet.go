package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/jobs"
)

// The offsets of a clock from which doctor warns and fails.
const (
	clockWarns = time.Second
	clockFails = time.Minute
)

// recentlyGone is how long doctor warns of a replica that ended without signing off.
const recentlyGone = time.Hour

// checkFleet checks the heartbeats of the replicas, and the configured jobs.
func checkFleet(ctx context.Context, s *stores.Store, configured []*jobs.Job) []Finding {
	f, err := fleet.New(s.Store)
	if err == nil {
		var status fleet.Status
		if status, err = f.Status(ctx, configured); err == nil {
			return fleetFindings(status, configured)
		}
	}
	return []Finding{unchecked("fleet", err)}
}

// check is a check of the fleet that lists the faults it finds.
type check struct {
	name   string
	good   string // the finding when nothing is wrong
	result Result // of the check when something is
	change string
	// wrong returns the faults; empty when there are none.
	wrong func(s fleet.Status, configured []*jobs.Job) string
}

var replicaChecks = []check{
	{"heartbeats", "all live replicas are in time", Warn, "check that these processes run and reach the store: other replicas take their ticks over", lateHeartbeats},
	{"replica-ids", "each process has an id of its own", Fail, "give each process an id of its own, or leave replica out of the configuration", sharedIDs},
}

var jobChecks = []check{
	{"definitions", "all replicas define the jobs alike", Fail, "give all replicas the same configuration; replicas that reload it need no restart", definedDifferently},
	{"served", "each configured job is served by a live replica", Fail, "start replicas with these jobs and groups, or take the jobs out of the configuration", unserved},
	{"weights", "each configured job fits the max_runs of a live replica that serves it", Fail, "raise max_runs of a replica that serves these jobs, or lower their weight", tooHeavy},
	{"capacity", "no tick waits for a free replica", Warn, "raise max_runs where the machine has capacity, start more replicas, or spread the schedules", fullReplicas},
	{"overdue", "no tick is overdue", Fail, "run worker why JOB, and check that the replicas that serve these jobs reach the store, and what they log", overdueJobs},
	{"watermarks", "no watermark lies in the future", Fail, "check that the clock of the store is right, then run worker repair JOB for each", futureWatermarks},
	{"configuration", "the replicas have the configuration that doctor reads", Warn, "deploy this configuration, or run doctor with the deployed one", otherConfigurations},
}

// fleetFindings makes the findings about a fleet. The first one is its live replicas. If there are
// none, there are no others.
func fleetFindings(s fleet.Status, configured []*jobs.Job) []Finding {
	found := []Finding{liveReplicas(s)}
	if len(s.Replicas) == 0 {
		return found
	}
	run := func(checks []check) {
		for _, c := range checks {
			f := Finding{Check: c.name, Result: OK, Finding: c.good}
			if wrong := c.wrong(s, configured); wrong != "" {
				f.Result, f.Finding, f.Change = c.result, wrong, c.change
			}
			found = append(found, f)
		}
	}
	run(replicaChecks)
	found = append(found, storeClock(s), replicaClocks(s), versions(s))
	run(jobChecks)
	return found
}

// listed returns the list after its head; empty when there is nothing on it.
func listed(head string, list []string) string {
	if len(list) == 0 {
		return ""
	}
	return head + render.List(list)
}

func liveReplicas(s fleet.Status) Finding {
	f := Finding{Check: "fleet", Result: OK, Finding: fmt.Sprintf("%s in namespace %s: %s", render.Count(len(s.Replicas), "live replica"), s.Namespace, render.List(replicaNames(s.Replicas)))}
	if len(s.Replicas) > 0 {
		return f
	}
	f.Finding = fmt.Sprintf("the store has no trace of a replica in namespace %s", s.Namespace)
	if slices.ContainsFunc(s.Jobs, func(j fleet.JobStatus) bool { return j.Known }) {
		f.Result, f.Finding = Fail, fmt.Sprintf("no replica is alive in namespace %s: nothing runs", s.Namespace)
		f.Change = "start a replica: worker run"
		if len(s.Silent) > 0 {
			f.Finding += fmt.Sprintf("; the last heartbeat was from %s at %s", s.Silent[0].ID, render.Time(s.Silent[0].LastHeartbeat.Truncate(time.Second), time.UTC))
		}
	}
	return f
}

func lateHeartbeats(s fleet.Status, _ []*jobs.Job) string {
	var late []string
	for _, r := range s.Replicas {
		if r.Silent(s.Now) {
			late = append(late, fmt.Sprintf("%s sent its last heartbeat %s ago", r.ID, s.Now.Sub(r.LastHeartbeat).Round(time.Second)))
		}
	}
	for _, r := range s.Silent {
		if ago := s.Now.Sub(r.LastHeartbeat); ago < recentlyGone && !r.Stopping {
			late = append(late, fmt.Sprintf("%s ended without signing off; its last heartbeat was %s ago", r.ID, ago.Round(time.Second)))
		}
	}
	return listed("", late)
}

func sharedIDs(s fleet.Status, _ []*jobs.Job) string {
	var shared []string
	for _, r := range s.Replicas {
		if n := r.Processes(); n > 1 {
			shared = append(shared, fmt.Sprintf("%d processes have the id %s", n, r.ID))
		}
	}
	return listed("", shared)
}

// storeClock checks that no replica has stopped claiming because it distrusts the store's clock.
func storeClock(s fleet.Status) Finding {
	f := Finding{Check: "store-clock", Result: OK, Finding: "all replicas trust it"}
	stepped, doubted := map[string][]string{}, []string{}
	var limit time.Duration
	for _, r := range s.Replicas {
		switch r.Clock {
		case heartbeat.ClockStepped:
			by := r.Step.Round(time.Second).String()
			stepped[by] = append(stepped[by], r.ID)
		case heartbeat.ClockDoubted:
			doubted = append(doubted, r.ID)
		case heartbeat.ClockTrusted:
			continue
		default: // an older version, which does not report it
			continue
		}
		limit = max(limit, r.TTL, 5*time.Second) // the limit of package scheduler
	}
	var parts []string
	for _, by := range slices.Sorted(maps.Keys(stepped)) {
		parts = append(parts, fmt.Sprintf("Redis's clock stepped by %s, as %s observed", by, render.List(stepped[by])))
	}
	if len(doubted) > 0 {
		parts = append(parts, fmt.Sprintf("Redis's clock disagrees with that of the machine of %s, which has just started", render.List(doubted)))
	}
	if len(parts) > 0 {
		f.Result = Fail
		f.Finding = fmt.Sprintf("%s; these replicas claim no ticks until the clock is right again, or has been steady for %s on all replicas", strings.Join(parts, "; "), limit)
		f.Change = "check the time on Redis's machine, and synchronize it with NTP; if it is right now, wait: claims resume by themselves"
	}
	return f
}

// replicaClocks compares the clocks of the replicas with fleet time, which is the store's.
func replicaClocks(s fleet.Status) Finding {
	var worst time.Duration
	var off []string
	same := true // all are wrong by the same offset
	known := 0
	for _, r := range s.Replicas {
		if r.JobCount < 0 {
			continue
		}
		known++
		same = same && (r.ClockOffset-s.Replicas[0].ClockOffset).Abs() < clockWarns
		if r.ClockOffset.Abs() >= clockWarns {
			off = append(off, fmt.Sprintf("the clock of %s is %s", r.ID, render.ClockOffset(r.ClockOffset.Round(time.Millisecond))))
			worst = max(worst, r.ClockOffset.Abs())
		}
	}
	f := Finding{Check: "replica-clocks", Result: OK, Finding: "all agree with fleet time within " + clockWarns.String()}
	if len(off) == 0 {
		return f
	}
	f.Result, f.Finding = Warn, render.List(off)
	f.Change = "synchronize the clocks of these machines with NTP: times in logs, and in jobs that read these clocks, are as wrong"
	if worst >= clockFails {
		f.Result = Fail
	}
	if same && known > 1 && len(off) == known {
		f.Finding = fmt.Sprintf("the clocks of all %d replicas are %s and agree with each other: the store's clock is wrong, so all ticks run at wrong times",
			known, render.ClockOffset(s.Replicas[0].ClockOffset.Round(time.Millisecond)))
		f.Change = "set the clock of the store's machine, and synchronize it with NTP"
	}
	return f
}

func versions(s fleet.Status) Finding {
	by := map[string][]string{}
	for _, r := range s.Replicas {
		version := r.Version
		if r.JobCount < 0 {
			version = "a version that this one cannot read"
		}
		by[version] = append(by[version], r.ID)
	}
	f := Finding{Check: "versions", Result: OK, Finding: "all replicas run " + strings.Join(slices.Collect(maps.Keys(by)), "")}
	if len(by) > 1 {
		f.Result, f.Finding = Warn, perValue(by)
		f.Change = "finish the rollout: versions may differ only during a rollout"
	}
	return f
}

// definedDifferently lists the jobs that live replicas define differently.
func definedDifferently(s fleet.Status, _ []*jobs.Job) string {
	var differ []string
	for _, j := range s.Jobs {
		if len(j.Revisions) > 0 {
			differ = append(differ, fmt.Sprintf("%s (%s)", j.Name, perValue(j.Revisions)))
		}
	}
	return listed(fmt.Sprintf("replicas define %s differently: ", render.Count(len(differ), "job")), differ)
}

func unserved(s fleet.Status, _ []*jobs.Job) string {
	var names []string
	for _, j := range s.Jobs {
		if j.Unserved && j.Given {
			text := j.Name
			if len(j.Spec.Groups) > 0 {
				text += " (groups " + strings.Join(j.Spec.Groups, ", ") + ")"
			}
			names = append(names, text)
		}
	}
	return listed("no live replica serves ", names)
}

// tooHeavy lists jobs that never run, because their weight is above max_runs of every replica that
// serves them.
func tooHeavy(s fleet.Status, _ []*jobs.Job) string {
	var heavy []string
	for _, j := range s.Jobs {
		fits := func(r fleet.Replica) bool { return slices.Contains(j.Replicas, r.ID) && r.Fits(j.Spec.Weight) }
		if j.Given && !j.Spec.Leader && len(j.Replicas) > 0 && !slices.ContainsFunc(s.Replicas, fits) {
			heavy = append(heavy, fmt.Sprintf("%s (weight %d)", j.Name, j.Spec.Weight))
		}
	}
	return listed("they never run, because their weight is above max_runs of every live replica that serves them: ", heavy)
}

// fullReplicas lists the replicas that have no room for ticks that wait, if no replica has.
func fullReplicas(s fleet.Status, _ []*jobs.Job) string {
	var full []string
	room := false
	for _, r := range s.Replicas {
		if r.Waiting > 0 {
			full = append(full, fmt.Sprintf("%s runs %d of %d, and %s", r.ID, r.Used, r.MaxRuns, render.Count(r.Waiting, "job")))
		}
		room = room || !r.Stopping && r.HasRoom(1)
	}
	if room {
		return ""
	}
	return listed("every replica is full, and ticks wait: ", full)
}

func overdueJobs(s fleet.Status, _ []*jobs.Job) string {
	var late []string
	for _, j := range s.Jobs {
		if !j.Overdue.IsZero() && j.Paused == nil {
			late = append(late, fmt.Sprintf("%s since %s", j.Name, render.Time(j.Overdue, time.UTC)))
		}
	}
	return listed("", late)
}

// futureWatermarks lists jobs that stand still because the store's clock was wrong.
func futureWatermarks(s fleet.Status, _ []*jobs.Job) string {
	var ahead []string
	for _, j := range s.Jobs {
		if j.Ahead > 0 {
			ahead = append(ahead, fmt.Sprintf("%s by %s", j.Name, render.Duration(j.Ahead)))
		}
	}
	return listed("in the future, so no tick runs until then: ", ahead)
}

// otherConfigurations compares this configuration with the definitions of the replicas.
func otherConfigurations(s fleet.Status, configured []*jobs.Job) string {
	var differ []string
	for _, j := range configured {
		other := slices.ContainsFunc(s.Replicas, func(r fleet.Replica) bool {
			revision, ok := r.Jobs[j.Name()]
			return ok && !r.Stopping && revision != j.Revision()
		})
		if other {
			differ = append(differ, j.Name())
		}
	}
	for _, j := range s.Jobs {
		if !j.Given && !j.LeftOver() {
			differ = append(differ, j.Name+" (not in this one)")
		}
	}
	return listed("replicas have other definitions of ", differ)
}

// perValue lists the replicas that have each value.
func perValue(by map[string][]string) string {
	var parts []string
	for _, value := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%s on %s", value, render.List(by[value])))
	}
	return strings.Join(parts, "; ")
}

func replicaNames(replicas []fleet.Replica) []string {
	names := make([]string, len(replicas))
	for i, r := range replicas {
		names[i] = r.ID
	}
	return names
}
