package scheduler_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/wire"
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
		k := key{a.Job, a.Tick.UnixMilli()}
		byTick[k] = append(byTick[k], a)
	}
	for k, attempts := range byTick {
		faultf := func(format string, args ...any) {
			faults = append(faults, fmt.Sprintf("%s at %s: ", k.job, since(time.UnixMilli(k.tick)))+fmt.Sprintf(format, args...))
		}
		f.judge(f.store.job(k.job), k.tick, attempts, faultf)
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
