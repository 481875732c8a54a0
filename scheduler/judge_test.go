package scheduler_test

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// broken returns which promises were broken, by what the store wrote down and by what the handlers
// saw.
func (f *fleet) broken() []string {
	f.store.mu.Lock()
	defer f.store.mu.Unlock()
	faults := slices.Clone(f.store.faults)
	type key struct {
		job  string
		tick int64
	}
	byTick := map[key][]attempt{}
	for _, a := range f.runs.of("") {
		k := key{naming.Keyed(a.Job, a.Key), a.Tick.UnixMilli()}
		byTick[k] = append(byTick[k], a)
	}
	for k, attempts := range byTick {
		faultf := func(format string, args ...any) {
			faults = append(faults, fmt.Sprintf("%s at %s: ", k.job, since(time.UnixMilli(k.tick)))+fmt.Sprintf(format, args...))
		}
		f.judge(f.store.job(k.job), k.tick, attempts, faultf)
	}
	for _, job := range f.jobs {
		faults = append(faults, f.decidedEarly(job)...)
	}
	for _, r := range f.replicas {
		if most := r.Capacity().MaxRuns; most > 0 && f.heaviest(r.Replica()) > most {
			faults = append(faults, fmt.Sprintf("%s ran %d at a time, and may run %d", r.Replica(), f.heaviest(r.Replica()), most))
		}
	}
	return faults
}

// heaviest is the greatest weight of the jobs that ran at one time on a replica, by what their
// handlers saw.
func (f *fleet) heaviest(replica string) (most int) {
	weights := map[string]int{}
	for _, j := range f.jobs {
		weights[j.Name()] = j.Spec().Weight
	}
	type change struct {
		at    time.Time
		delta int
	}
	var changes []change
	for _, a := range f.runs.of("") {
		if a.Replica != replica {
			continue
		}
		changes = append(changes, change{a.start, weights[a.Job]})
		if !a.end.IsZero() {
			changes = append(changes, change{a.end, -weights[a.Job]})
		}
	}
	slices.SortFunc(changes, func(a, b change) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.delta, b.delta)) })
	sum := 0
	for _, c := range changes {
		sum += c.delta
		most = max(most, sum)
	}
	return most
}

// decidedEarly returns which ticks of a job were decided without a run before they were due, jitter
// included.
func (f *fleet) decidedEarly(job *jobs.Job) (faults []string) {
	ledger, jitter := f.store.job(job.Name()), job.Spec().Jitter
	if jitter == 0 || ledger.first < 0 {
		return nil
	}
	for _, p := range append(ledger.passes, passed{0, ledger.first, "before the first record", ledger.made}) {
		from := max(p.from, p.at.Add(-jitter-time.Second).UnixMilli()) // those before were due
		for t := job.Schedule().Next(time.UnixMilli(from)); t.UnixMilli() <= p.to; t = job.Schedule().Next(t) {
			due := time.UnixMilli(wire.Due(job.Name(), t.UnixMilli(), jitter))
			if due.After(p.at) {
				faults = append(faults, fmt.Sprintf("%s at %s: decided as %s at %s, before it was due at %s",
					job.Name(), since(t), p.outcome, since(p.at), since(due)))
			}
		}
	}
	return faults
}

// judge looks at one tick.
func (f *fleet) judge(j *ledger, tick int64, attempts []attempt, faultf func(string, ...any)) {
	done, grants := j.fates[tick], slices.Concat(j.grants[tick], j.grants[0]) // 0: as a leader task
	for i, a := range attempts {
		if a.start.Add(f.store.most).UnixMilli() < tick {
			faultf("attempt %d began early, at %s", a.Attempt, since(a.start))
		}
		if !slices.ContainsFunc(grants, func(g *grant) bool { return g.token == a.Token && g.holder == a.Replica }) {
			faultf("attempt %d ran under token %d, which %s was not granted", a.Attempt, a.Token, a.Replica)
		}
		if done.outcome != "" && done.token != a.Token && a.start.After(done.at) {
			faultf("attempt %d began at %s, after the tick was settled at %s as %s", a.Attempt, since(a.start), since(done.at), done.outcome)
		}
		if i == 0 {
			continue
		}
		before := attempts[i-1]
		if a.Token < before.Token || a.Token == before.Token && a.Attempt <= before.Attempt {
			faultf("attempt %d with token %d came after attempt %d with token %d", a.Attempt, a.Token, before.Attempt, before.Token)
		}
		if end := before.stopped(); end.IsZero() || end.After(a.start) {
			faultf("attempt %d began on %s at %s, while attempt %d ran on %s until %s",
				a.Attempt, a.Replica, since(a.start), before.Attempt, before.Replica, since(end))
		}
		// The grant, not only the run, has to come after the holder before was cancelled.
		for _, g := range j.grants[tick] {
			if g.token == a.Token && a.Token != before.Token && before.stopped().After(g.at) {
				faultf("token %d was granted at %s, before attempt %d was cancelled at %s", a.Token, since(g.at), before.Attempt, since(before.stopped()))
			}
		}
	}
	if done.outcome == wire.Succeeded && !slices.ContainsFunc(attempts, func(a attempt) bool { return a.Token == done.token && a.err == nil }) {
		faultf("settled as succeeded, but no attempt under token %d did", done.token)
	}
}
