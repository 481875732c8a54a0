package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/plan"

	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// facts are what this replica has noticed, for the journal. They are written in the background.
// While the store is away, a bounded number is kept; a fact that is lost makes an explanation say
// less.
type facts struct {
	*link
	living atomic.Int32 // replicas that were seen last

	mu      sync.Mutex
	pending []pendingFact
	wake    sleep.Signal
}

type pendingFact struct {
	job string // empty for the fleet
	fleet.Fact
}

const (
	mostPending = 256
	factTries   = 5                      // of a fact, while the store answers other calls
	mostAway    = 3                      // how many replicas note the same absence of the store, or hold of claims
	leastAway   = 500 * time.Millisecond // shorter ones keep no tick from being started in time
)

func newFacts(l *link) *facts { return &facts{link: l, wake: sleep.NewSignal()} }

// add queues a fact. It does not block.
func (f *facts) add(job string, fact fleet.Fact) {
	f.mu.Lock()
	if len(f.pending) < mostPending {
		f.pending = append(f.pending, pendingFact{job, fact})
	}
	f.mu.Unlock()
	f.wake.Set()
}

func (f *facts) first() (p pendingFact, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pending) == 0 {
		return p, false
	}
	return f.pending[0], true
}

func (f *facts) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pending = f.pending[1:]
}

// run writes facts until ctx ends, and then those that remain if the store answers.
func (f *facts) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-f.wake:
		}
		f.writePending(ctx)
	}
}

func (f *facts) writePending(ctx context.Context) {
	tries := 0
	for {
		p, ok := f.first()
		if !ok {
			return
		}
		switch err := f.writeFact(ctx, p); {
		case err == nil:
			f.drop()
			tries = 0
			continue
		case ctx.Err() != nil:
			return
		case f.health.IsUp():
			if tries++; tries == factTries {
				f.drop()
				tries = 0
			}
		}
		sleep.For(ctx, time.Second)
	}
}

func (f *facts) writeFact(ctx context.Context, p pendingFact) error {
	if p.Kind == wire.FactAway || p.Kind == wire.FactHeld {
		sleep.For(ctx, rand.N(leastAway)) // not all of a large fleet at once
		if f.isKnown(p.Fact) {
			return nil
		}
	}
	limited, cancel := f.call()
	defer cancel()
	return f.store.Append(limited, p.job, p.Request(), p.Encode())
}

// isKnown reports whether enough other replicas have noted the same.
func (f *facts) isKnown(mine fleet.Fact) bool {
	view, err := fleet.New(f.store)
	if err != nil {
		return false
	}
	limited, cancel := f.call()
	defer cancel()
	known, err := view.Facts(limited, "")
	others := 0
	for _, k := range known {
		if k.Kind == mine.Kind && k.By != mine.By && k.From.Before(mine.To) && mine.From.Before(k.To) {
			others++
		}
	}
	return err == nil && others >= mostAway
}

// storeIsBack notes that the store did not answer this replica from since until now.
func (f *facts) storeIsBack(since time.Time) {
	now := time.Now()
	if now.Sub(since) < leastAway {
		return
	}
	// Fleet time may not be known yet: see writeFact.
	f.add("", fleet.Fact{
		Kind: wire.FactAway, By: f.replica, From: f.clock.At(since), To: f.clock.At(now), Living: int(f.living.Load()),
	})
}

// hold notes that claims were held for that long, until now. by is how far the store's clock is
// from where it was. By that clock the hold began when it was last trusted: a clock that was put
// forward for good has skipped the rest.
func (f *facts) hold(by, held, step time.Duration) {
	if held < leastAway {
		return
	}
	now := f.clock.Now()
	f.add("", fleet.Fact{
		Kind: wire.FactHeld, By: f.replica, From: now.Add(-held - max(0, by)), To: now, Living: int(f.living.Load()), Step: step,
	})
}

// tookOver notes who held a tick, or led, before this replica.
func (f *facts) tookOver(job string, tick int64, a protocol.Answer) {
	if a.Former == nil {
		return
	}
	fact := fleet.Fact{
		Kind: wire.FactTakeover, By: f.replica, Replica: a.Former.Holder, Token: a.Former.Token, Attempt: a.Former.Attempt,
		From: time.UnixMicro(a.Former.Token), To: a.Former.Ended, Released: a.Former.Ended.IsZero(),
	}
	if tick != 0 {
		fact.Tick = time.UnixMilli(tick)
	}
	if fact.Released {
		fact.To = a.Now
	}
	f.add(job, fact)
}

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
func (f *facts) lookBack(came time.Time, groupSets [][]string) bool {
	ctx, cancel := f.call()
	defer cancel()
	living, err := f.store.Members(ctx)
	if err != nil {
		return false
	}
	former, err := f.store.FormerMembers(ctx)
	if err != nil {
		return false
	}
	replicas := append(living, former...)
	for _, groups := range groupSets {
		last := newestHeartbeat(replicas, groups)
		// One heartbeat that is missing is not one that is late.
		if last.by == "" || came.Sub(last.at) <= last.every+last.every/4+leastAway {
			continue
		}
		f.add("", fleet.Fact{
			Kind: wire.FactAbsent, By: f.replica, From: last.at, To: came, Replica: last.by, Groups: groups,
		})
	}
	return true
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

// edited notes that this replica was the first to bring the schedule of a job, if its sync
// changed the record.
func (f *facts) edited(name string, job *jobs.Job, r protocol.Record, sent, received time.Time) {
	const precision = 2 * time.Millisecond // of fleet time
	n := len(r.Schedules)                  // a record that another has just made has one, and was not edited
	if r.Made || n < 2 || r.Revised.Before(sent.Add(-precision)) || r.Revised.After(received.Add(precision)) {
		return
	}
	f.add(name, fleet.Fact{
		Kind: wire.FactEdited, By: f.replica, From: r.Revised,
		Schedule: readable(plan.ScheduleText(job)), Before: readable(r.Schedules[n-2].Text),
	})
}

// readable returns the text of a schedule as one line.
func readable(text string) string { return strings.Join(strings.Fields(text), " ") }

// renote is how long a definition that was noted is not noted again. After that the journal may
// have dropped it.
const renote = 24 * time.Hour

// definitionNotes remembers which definitions this replica has noted.
type definitionNotes struct {
	*Scheduler
	noted map[string]bool // revisions
	began time.Time
	since time.Time // when the store began to remember
	set   *jobSet   // in which, with that order, nothing is left to note
	order *membership.Ranking
}

// run writes the definitions of this replica's jobs to the store, for people, until ctx ends. Only
// definitions whose revisions are in heartbeats are of use.
func (n *definitionNotes) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := probeEvery
		if n.health.IsUp() {
			since := n.remembersSince()
			if n.noted == nil || time.Since(n.began) > renote || !since.Equal(n.since) {
				*n = definitionNotes{Scheduler: n.Scheduler, noted: map[string]bool{}, began: time.Now(), since: since}
			}
			n.noteMissing(ctx)
			wait = wire.HeartbeatInterval(n.ttl)
		}
		sleep.For(ctx, wait)
	}
}

// noteMissing notes the definitions of the jobs that this replica claims first, until a call fails.
// If every replica noted all of its jobs, most of the start of a large fleet would be spent on
// that.
func (n *definitionNotes) noteMissing(ctx context.Context) {
	set, order := n.jobs.Load(), n.peers.Current()
	if len(set.revisions) > heartbeat.MostJobs || set == n.set && order == n.order || order == nil { // of unknown members
		return
	}
	for name, revision := range set.revisions {
		if n.noted[revision] || !order.First(name, revision) {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		limited, cancel := n.call()
		err := wire.NoteDefinition(limited, n.store, set.job(name))
		cancel()
		if err != nil {
			return
		}
		n.noted[revision] = true
	}
	n.set, n.order = set, order
}
