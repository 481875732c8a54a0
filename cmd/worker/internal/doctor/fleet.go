package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/output"
	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
)

// From where on a clock that is off is worth a warning, and a failure.
const (
	clockWarns = time.Second
	clockFails = time.Minute
)

// recentlyGone is for how long a replica that is gone without having signed off is worth a warning.
const recentlyGone = time.Hour

// checkFleet looks at what the replicas say about themselves, and at the configured jobs.
func checkFleet(ctx context.Context, s *stores.Store, configured []*jobs.Job) []Finding {
	f, err := fleet.New(s.Store)
	if err == nil {
		var status fleet.Status
		if status, err = f.Status(ctx, configured); err == nil {
			return fleetFindings(status, configured)
		}
	}
	return []Finding{{Check: "fleet", Result: Unchecked, Finding: fmt.Sprintf("could not be checked: %v", err)}}
}

// fleetFindings judges a fleet: first how many live, and then what is wrong.
func fleetFindings(s fleet.Status, configured []*jobs.Job) []Finding {
	found := []Finding{liveReplicas(s)}
	if len(s.Replicas) == 0 {
		return found
	}
	for _, check := range []func(fleet.Status) Finding{heartbeats, replicaIDs, storeClock, replicaClocks, versions, definitionsDiffer, unserved, tooHeavy, fullReplicas, overdueJobs, watermarks} {
		found = append(found, check(s))
	}
	return append(found, thisConfiguration(s, configured))
}

func liveReplicas(s fleet.Status) Finding {
	f := Finding{Check: "fleet", Result: OK, Finding: fmt.Sprintf("%s in namespace %s: %s", output.Count(len(s.Replicas), "live replica"), s.Namespace, output.List(replicaNames(s.Replicas)))}
	if len(s.Replicas) > 0 {
		return f
	}
	f.Finding = fmt.Sprintf("no replica was ever started in namespace %s, as far as the store remembers", s.Namespace)
	if slices.ContainsFunc(s.Jobs, func(j fleet.JobStatus) bool { return j.Known }) {
		f.Result, f.Finding = Fail, fmt.Sprintf("no live replica in namespace %s: nothing runs", s.Namespace)
		f.Change = "start a replica: worker run"
		if len(s.Silent) > 0 {
			f.Finding += fmt.Sprintf("; the last heartbeat was that of %s at %s", s.Silent[0].ID, output.Time(s.Silent[0].Heard.Truncate(time.Second), time.UTC))
		}
	}
	return f
}

func heartbeats(s fleet.Status) Finding {
	f := Finding{Check: "heartbeats", Result: OK, Finding: "of all live replicas in time"}
	var late []string
	for _, r := range s.Replicas {
		if r.Silent(s.Now) {
			late = append(late, fmt.Sprintf("%s is silent since %s ago", r.ID, s.Now.Sub(r.Heard).Round(time.Second)))
		}
	}
	for _, r := range s.Silent {
		if ago := s.Now.Sub(r.Heard); ago < recentlyGone {
			late = append(late, fmt.Sprintf("%s was gone %s ago without signing off", r.ID, ago.Round(time.Second)))
		}
	}
	if len(late) > 0 {
		f.Result, f.Finding = Warn, output.List(late)
		f.Change = "see whether these processes live and reach the store: what they ran was taken over, or will be"
	}
	return f
}

func replicaIDs(s fleet.Status) Finding {
	f := Finding{Check: "replica-ids", Result: OK, Finding: "each is that of one process"}
	var shared []string
	for _, r := range s.Replicas {
		if n := r.Processes(); n > 1 {
			shared = append(shared, fmt.Sprintf("%d processes are called %s", n, r.ID))
		}
	}
	if len(shared) > 0 {
		f.Result, f.Finding = Fail, output.List(shared)
		f.Change = "give each process an id of its own, or leave replica out of the configuration"
	}
	return f
}

// storeClock says whether replicas hold their claims because they do not trust the store's clock.
func storeClock(s fleet.Status) Finding {
	f := Finding{Check: "store-clock", Result: OK, Finding: "no replica doubts it"}
	stepped, doubted := map[string][]string{}, []string{}
	var limit time.Duration
	for _, r := range s.Replicas {
		switch r.Clock {
		case fleet.ClockStepped:
			by := r.Step.Round(time.Second).String()
			stepped[by] = append(stepped[by], r.ID)
		case fleet.ClockDoubted:
			doubted = append(doubted, r.ID)
		case fleet.ClockTrusted:
			continue
		default: // a version that does not say
			continue
		}
		limit = max(limit, r.Term, 5*time.Second) // the limit of package scheduler
	}
	var parts []string
	for _, by := range slices.Sorted(maps.Keys(stepped)) {
		parts = append(parts, fmt.Sprintf("Redis's clock stepped by %s, by what %s saw", by, output.List(stepped[by])))
	}
	if len(doubted) > 0 {
		parts = append(parts, fmt.Sprintf("Redis's clock disagrees with that of the machine of %s, which just started", output.List(doubted)))
	}
	if len(parts) > 0 {
		f.Result = Fail
		f.Finding = fmt.Sprintf("%s; nothing is claimed there until it is right again, or steady for %s on all replicas", strings.Join(parts, "; "), limit)
		f.Change = "check the time on Redis's machine, and let NTP keep it; if it is right now, wait: claims go on by themselves"
	}
	return f
}

// replicaClocks compares the replicas' own clocks with fleet time, which is the store's.
func replicaClocks(s fleet.Status) Finding {
	var worst time.Duration
	var off []string
	same := true // all are wrong, and by the same
	known := 0
	for _, r := range s.Replicas {
		if r.JobCount < 0 {
			continue
		}
		known++
		same = same && (r.ClockOffset-s.Replicas[0].ClockOffset).Abs() < clockWarns
		if r.ClockOffset.Abs() >= clockWarns {
			off = append(off, fmt.Sprintf("that of %s is %s", r.ID, output.ClockOffset(r.ClockOffset.Round(time.Millisecond))))
			worst = max(worst, r.ClockOffset.Abs())
		}
	}
	f := Finding{Check: "replica-clocks", Result: OK, Finding: "all agree with fleet time within " + clockWarns.String()}
	if len(off) == 0 {
		return f
	}
	f.Result, f.Finding = Warn, output.List(off)
	f.Change = "let NTP keep the clocks of these machines: logs and what jobs do by them are as wrong as that"
	if worst >= clockFails {
		f.Result = Fail
	}
	if same && known > 1 && len(off) == known {
		f.Finding = fmt.Sprintf("those of all %d replicas are %s, and agree with each other: it is the store's clock that is wrong, and with it all ticks",
			known, output.ClockOffset(s.Replicas[0].ClockOffset.Round(time.Millisecond)))
		f.Change = "set the clock of the store's machine, and let NTP keep it"
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
		f.Change = "finish the rollout: replicas of different versions are for its time only"
	}
	return f
}

// definitionsDiffer finds the jobs that live replicas define differently.
func definitionsDiffer(s fleet.Status) Finding {
	f := Finding{Check: "definitions", Result: OK, Finding: "all replicas define the jobs alike"}
	var differ []string
	for _, j := range s.Jobs {
		if len(j.Revisions) > 0 {
			differ = append(differ, fmt.Sprintf("%s (%s)", j.Name, perValue(j.Revisions)))
		}
	}
	if len(differ) > 0 {
		f.Result, f.Finding = Fail, fmt.Sprintf("replicas differ about %s: %s", output.Count(len(differ), "job"), output.List(differ))
		f.Change = "bring all replicas the same configuration; those that read it again need no restart"
	}
	return f
}

func unserved(s fleet.Status) Finding {
	f := Finding{Check: "served", Result: OK, Finding: "each configured job is served by a live replica"}
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
	if len(names) > 0 {
		f.Result, f.Finding = Fail, "no live replica serves "+output.List(names)
		f.Change = "start replicas with these jobs and groups, or take the jobs out of the configuration"
	}
	return f
}

// tooHeavy finds the jobs that no live replica which serves them can ever run.
func tooHeavy(s fleet.Status) Finding {
	f := Finding{Check: "weights", Result: OK, Finding: "each configured job fits the max_runs of a live replica that serves it"}
	var heavy []string
	for _, j := range s.Jobs {
		fits := func(r fleet.Replica) bool { return slices.Contains(j.Replicas, r.ID) && r.Fits(j.Spec.Weight) }
		if j.Given && !j.Spec.Leader && len(j.Replicas) > 0 && !slices.ContainsFunc(s.Replicas, fits) {
			heavy = append(heavy, fmt.Sprintf("%s (weight %d)", j.Name, j.Spec.Weight))
		}
	}
	if len(heavy) > 0 {
		f.Result, f.Finding = Fail, "above the max_runs of every live replica that serves them, so that they never run: "+output.List(heavy)
		f.Change = "raise max_runs of a replica that serves these jobs, or lower their weight"
	}
	return f
}

// fullReplicas finds replicas that ticks wait for.
func fullReplicas(s fleet.Status) Finding {
	f := Finding{Check: "capacity", Result: OK, Finding: "no tick waits for room"}
	var full []string
	room := false
	for _, r := range s.Replicas {
		if r.Waiting > 0 {
			full = append(full, fmt.Sprintf("%s runs %d of %d, and %s", r.ID, r.Used, r.MaxRuns, output.Count(r.Waiting, "job")))
		}
		room = room || !r.Stopping && r.HasRoom(1)
	}
	if len(full) > 0 && !room {
		f.Result, f.Finding = Warn, "every replica is full, and ticks wait: "+output.List(full)
		f.Change = "raise max_runs where the machine can bear it, start more replicas, or spread the schedules"
	}
	return f
}

func overdueJobs(s fleet.Status) Finding {
	f := Finding{Check: "overdue", Result: OK, Finding: "no tick is"}
	var late []string
	for _, j := range s.Jobs {
		if !j.Overdue.IsZero() && j.Paused == nil {
			late = append(late, fmt.Sprintf("%s since %s", j.Name, output.Time(j.Overdue, time.UTC)))
		}
	}
	if len(late) > 0 {
		f.Result, f.Finding = Fail, output.List(late)
		f.Change = "ask worker why JOB, and see whether the replicas that serve these jobs reach the store, and what they log"
	}
	return f
}

// watermarks finds the jobs that a clock which was wrong has stopped.
func watermarks(s fleet.Status) Finding {
	f := Finding{Check: "watermarks", Result: OK, Finding: "none lies in the future"}
	var ahead []string
	for _, j := range s.Jobs {
		if j.Ahead > 0 {
			ahead = append(ahead, fmt.Sprintf("%s by %s", j.Name, output.Duration(j.Ahead)))
		}
	}
	if len(ahead) > 0 {
		f.Result, f.Finding = Fail, "in the future, so that no tick runs up to then: "+output.List(ahead)
		f.Change = "see that the clock of the store is right, and then call worker repair JOB for each"
	}
	return f
}

// thisConfiguration compares the file that doctor reads with what the replicas have.
func thisConfiguration(s fleet.Status, configured []*jobs.Job) Finding {
	f := Finding{Check: "configuration", Result: OK, Finding: "that of the replicas is the one that doctor reads"}
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
	if len(differ) > 0 {
		f.Result, f.Finding = Warn, "replicas have another one of "+output.List(differ)
		f.Change = "deploy this configuration, or ask doctor with the one that is deployed"
	}
	return f
}

// perValue says which replicas have which value.
func perValue(by map[string][]string) string {
	var parts []string
	for _, value := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%s on %s", value, output.List(by[value])))
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
