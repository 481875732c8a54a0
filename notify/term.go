package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/notified"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/lease"
)

// term is the time for which this replica is elected: what it knows of the jobs, and a queue for
// each receiver.
type term struct {
	*Notifier
	queues []*queue
	head   head
	saved  time.Time       // when the head was written
	looked bool            // at all jobs: until then what waits is what the head says
	keys   map[string]bool // JOB/KEY of those that failed
	noted  time.Time       // up to which failures are among the keys

	mu    sync.Mutex
	last  []*notified.Sent  // by each receiver; nil for none in this term
	known map[string]*known // by job
	at    time.Time         // fleet time at the last look
	local time.Time         // this machine's at the same moment
}

// known has the knowledge of the elected notifier about a job.
type known struct {
	protocol.Progress
	reached map[string]reached // by receiver
	seen    string             // of the outcomes, when they were last looked at
	state   state
	since   [2]time.Time // since when the job is unserved, and overdue, by this machine's clock
}

func newTerm(n *Notifier) *term {
	t := &term{Notifier: n, known: map[string]*known{}, keys: map[string]bool{}, last: make([]*notified.Sent, len(n.receivers))}
	for i := range n.receivers {
		t.queues = append(t.queues, newQueue(t, i))
	}
	return t
}

// run looks at the fleet again and again, and sends, until ctx ends.
func (t *term) run(ctx context.Context) {
	var senders sync.WaitGroup
	defer senders.Wait()
	for ctx.Err() == nil && !t.begin(ctx) {
		sleep.For(ctx, time.Second)
	}
	for _, q := range t.queues {
		senders.Go(func() { q.run(ctx) })
	}
	failing := false
	for ctx.Err() == nil {
		began := time.Now()
		err := t.look(ctx)
		took := time.Since(began)
		if err != nil && ctx.Err() == nil && !failing {
			t.options.logger.Warn("the notifier cannot read the fleet", slog.String("error", err.Error()))
		}
		failing = err != nil
		t.wait(ctx, max(t.options.interval, 20*took), max(t.options.interval/10, 20*took))
	}
}

// wait waits for the interval, or for a nudge, but then for the least.
func (t *term) wait(ctx context.Context, interval, least time.Duration) {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	if !sleep.For(ctx, least) {
		return
	}
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-t.soon:
	}
}

// begin reads how far the namespace is, and adds receivers that are there for the first time.
func (t *term) begin(ctx context.Context) bool {
	now, err := t.fleet.Now(ctx)
	if err == nil {
		t.head, err = readHead(ctx, t.store)
	}
	if err == nil {
		err = t.save(ctx, now)
	}
	if err != nil && ctx.Err() == nil {
		t.options.logger.Warn("the notifier cannot begin", slog.String("error", err.Error()))
	}
	return err == nil
}

// readsAtOnce is how many histories are read at a time.
const readsAtOnce = 16

// look compares each job with what the receivers know of it.
func (t *term) look(ctx context.Context) error {
	status, err := t.fleet.Status(ctx, t.options.jobs())
	if err != nil {
		return err
	}
	local := time.Now()
	t.mu.Lock()
	t.at, t.local = status.Now, local
	t.mu.Unlock()
	failing, err := t.failing(ctx)
	if err != nil {
		return err
	}
	status.Jobs = append(status.Jobs, failing...)
	if err := t.learn(ctx, status.Jobs); err != nil {
		return err
	}
	var changed []fleet.JobStatus
	for _, j := range status.Jobs {
		switch steady, states := t.compare(j, local); {
		case !steady:
			changed = append(changed, j)
		case states:
			t.queue(j, nil)
		}
	}
	if err := t.read(ctx, changed); err != nil {
		return err
	}
	t.looked = true
	return t.report(ctx, status.Now)
}

// read queues jobs by their histories.
func (t *term) read(ctx context.Context, list []fleet.JobStatus) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan fleet.JobStatus)
	var readers sync.WaitGroup
	for range min(readsAtOnce, len(list)) {
		readers.Go(func() {
			for j := range next {
				outcomes, err := t.fleet.Outcomes(ctx, j.Name)
				if err != nil {
					cancel(err)
					continue
				}
				t.queue(j, outcomes)
			}
		})
	}
	for _, j := range list {
		select {
		case next <- j:
		case <-ctx.Done():
		}
	}
	close(next)
	readers.Wait()
	return context.Cause(ctx)
}

// queue gives a job to the receivers that have something to get of it.
func (t *term) queue(j fleet.JobStatus, outcomes []fleet.Entry) {
	for i, r := range t.receivers {
		if r.concerns(j.Name, j.Spec) && len(t.changes(i, j.Name, outcomes)) > 0 {
			t.queues[i].add(j.Name, t.waitedSince(r.Name, j.Name))
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.known[j.Name]; k != nil {
		k.seen = newest(j)
	}
}

// waitedSince returns since when a receiver has not taken a job, by this machine's clock: what the
// notifier before has reported counts until all jobs were looked at.
func (t *term) waitedSince(receiver, job string) time.Time {
	now := time.Now()
	if before := t.head.Waiting[receiver]; !t.looked && slices.Contains(before.Names, job) {
		return now.Add(-t.now().Sub(wire.FromMilli(before.Since)))
	}
	return now
}

// learn reads the progress of jobs that it does not know yet, in pages, and forgets those that are
// gone.
func (t *term) learn(ctx context.Context, list []fleet.JobStatus) error {
	there := make(map[string]bool, len(list))
	var names []string
	t.mu.Lock()
	for _, j := range list {
		there[j.Name] = true
		if t.known[j.Name] == nil {
			names = append(names, j.Name)
		}
	}
	for name := range t.known {
		if !there[name] {
			delete(t.known, name)
		}
	}
	t.mu.Unlock()
	for page := range slices.Chunk(names, protocol.MaxSummaries) {
		read, err := t.store.Progress(ctx, page)
		if err != nil {
			return err
		}
		t.mu.Lock()
		for _, p := range read {
			k := new(known)
			k.set(p)
			t.known[p.Name] = k
		}
		t.mu.Unlock()
	}
	return nil
}

// set takes a value of the store, unless it is older than the one that is known. One that cannot be
// read is replaced with the next notification.
func (k *known) set(p protocol.Progress) {
	if p.Version.Stamp != 0 && p.Version.Stamp < k.Version.Stamp {
		return
	}
	var stored notified.Job
	_ = json.Unmarshal(p.Data, &stored)
	k.Progress, k.reached = p, map[string]reached{}
	for name, r := range stored.Receivers {
		k.reached[name] = reached(r)
	}
}

// compare looks at the summary of a job. It is steady when its newest outcomes say nothing that a
// receiver does not know: then its history is not read. states says that it is or was overdue or
// unserved, or is a leader task that fails or does well.
func (t *term) compare(j fleet.JobStatus, local time.Time) (steady, states bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.known[j.Name]
	k.state = k.found(j, t.options.confirm, t.at, local)
	k.state.run = leaderRun(j, t.options.confirm, t.after(j.Name), t.at)
	unserved, overdue := k.sent()
	states = cmp.Or(k.state.overdue, k.state.unserved, unserved, overdue) != nil || k.state.run != nil
	seen := newest(j)
	switch {
	case k.seen == seen:
		return true, states
	case k.seen == "" && k.Version != (protocol.ProgressVersion{}): // what came since another has notified of it is not known
		return false, states
	case !t.steadyLocked(j, k):
		return false, states
	default:
		k.seen = seen
		return true, states
	}
}

// steadyLocked reports whether the newest outcomes say nothing that a receiver does not know.
func (t *term) steadyLocked(j fleet.JobStatus, k *known) bool {
	for _, r := range t.receivers {
		if r.concerns(j.Name, j.Spec) && !inOrder(j.Newest, k.reached[r.Name].outcome()) {
			return false
		}
	}
	return true
}

// newest identifies the newest outcomes of a job, as far as a summary has them.
func newest(j fleet.JobStatus) string {
	var b strings.Builder
	b.WriteString(".")
	for _, e := range []*fleet.Entry{j.Last, j.LastRun, j.LastSuccess} {
		if e != nil {
			b.WriteString(e.ID)
			b.WriteString(e.SettledAt.String())
		}
	}
	for _, o := range j.Newest {
		b.WriteString(" ")
		b.WriteString(string(o))
	}
	return b.String()
}

// inOrder reports whether outcomes say nothing else than a condition does.
func inOrder(list []lease.Outcome, condition Condition) bool {
	for _, o := range list {
		if c := outcomeOf(fleet.Entry{Outcome: o}); c != "" && c != condition {
			return false
		}
	}
	return true
}

// changes returns what a receiver is to get of a job.
func (t *term) changes(receiver int, job string, list []fleet.Entry) []change {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, r := t.known[job], t.receivers[receiver]
	if k == nil {
		return nil
	}
	return k.reached[r.Name].changes(t.fleet.Namespace(), list, t.head.Since[r.Name], t.after(job), k.state, job)
}

// after returns how many ticks of a job, or of a key of it, go wrong in a row before that is notified of.
func (t *term) after(name string) int {
	job, _ := naming.SplitKeyed(name)
	return t.options.after(job)
}

// now returns fleet time, as far as it can be reckoned from the last look.
func (t *term) now() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.at.Add(time.Since(t.local))
}

// commit records that a receiver has come so far with a job. It reports false when somebody else
// has: then the job is looked at again.
func (t *term) commit(ctx context.Context, receiver int, job string, then reached) (bool, error) {
	name := t.receivers[receiver].Name
	for ctx.Err() == nil {
		t.mu.Lock()
		k := t.known[job]
		if k == nil {
			t.mu.Unlock()
			return false, nil
		}
		before, p := k.reached[name], k.Progress
		all := notified.Job{Receivers: map[string]notified.Reached{name: notified.Reached(then)}}
		for other, r := range k.reached {
			if other != name && (t.isReceiver(other) || len(all.Receivers) < maxReceivers) {
				all.Receivers[other] = notified.Reached(r)
			}
		}
		t.mu.Unlock()
		data, err := all.Encode()
		if err != nil {
			return false, err
		}
		p.Data = data
		present, done, err := t.store.SetProgress(ctx, p)
		if err != nil {
			return false, err
		}
		t.mu.Lock()
		k.set(present)
		other := k.reached[name]
		t.mu.Unlock()
		if done {
			return true, nil
		}
		if !same(other, before) {
			return false, nil
		}
	}
	return false, context.Cause(ctx)
}

// sent notes that a receiver has taken c, and returns what it has taken of the job, newest first.
func (t *term) sent(receiver int, c change) []notified.Sent {
	s := notified.Sent{Job: c.Job, Condition: string(c.Condition), Was: string(c.Was), Tick: wire.UnixMilli(c.Tick), At: t.now().UnixMilli()}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last[receiver] = new(s)
	s.Job = "" // the value is the job's
	return append([]notified.Sent{s}, c.then.Sent[:min(len(c.then.Sent), notified.MaxSent-1)]...)
}

func (t *term) isReceiver(name string) bool {
	return slices.ContainsFunc(t.receivers, func(r Receiver) bool { return r.Name == name })
}

func same(a, b reached) bool {
	x, _ := json.Marshal(a) //nolint:errchkjson // numbers and strings
	y, _ := json.Marshal(b) //nolint:errchkjson // see above
	return string(x) == string(y)
}
