package solotest

import (
	"context"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Fault is something that happened to the fleet, or that somebody did.
type Fault struct {
	Kind     string        // one of [Kinds], or edit
	Replica  string        // empty if it is of all
	Job      string        // that was paused, triggered or defined again
	By       time.Duration // of clock
	From, To time.Time     // by the replicas' clocks; To is zero while it lasts, and equals From if it does not
}

// Faults returns what happened so far.
func (f *Fleet) Faults() []Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.faults)
}

// begin keeps a fault; one that is over at once ends when it begins. What lasts already is not
// begun again.
func (f *Fleet) begin(fault Fault, over bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fault.From = time.Now(); over {
		fault.To = fault.From
	} else if slices.ContainsFunc(f.faults, func(o Fault) bool {
		return o.To.IsZero() && o.Kind == fault.Kind && o.Replica == fault.Replica && o.Job == fault.Job
	}) {
		return
	}
	f.faults = append(f.faults, fault)
	f.t.Logf("solotest: %s %s%s%s", time.Now().UTC().Format("15:04:05.000"), fault.Kind, spaced(fault.Replica), spaced(fault.Job))
}

func spaced(s string) string {
	if s == "" {
		return ""
	}
	return " " + s
}

// end ends the faults of some kinds.
func (f *Fleet) end(replica, job string, kinds ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.faults {
		if o := &f.faults[i]; o.To.IsZero() && o.Replica == replica && o.Job == job && slices.Contains(kinds, o.Kind) {
			o.To = time.Now()
		}
	}
}

// StopStore takes the store away from all, as a server does that was killed, until StartStore.
func (f *Fleet) StopStore() { f.failStore(refuses) }

// FreezeStore has the store answer nobody, as with SIGSTOP, until StartStore. It does then what it
// was asked meanwhile.
func (f *Fleet) FreezeStore() { f.failStore(freezes) }

func (f *Fleet) failStore(c condition) {
	f.begin(Fault{Kind: "outage"}, false)
	f.server.fail(c, nil)
}

// StartStore ends StopStore and FreezeStore.
func (f *Fleet) StartStore() { f.startStore(func() time.Duration { return 0 }) }

func (f *Fleet) startStore(reconnect func() time.Duration) {
	f.server.fail(works, reconnect)
	f.end("", "", "outage")
}

// Cut makes every call of a replica to the store fail, until Heal.
func (f *Fleet) Cut(replica string) { f.cut(f.replica(replica), refuses) }

func (f *Fleet) cut(r *replica, c condition) {
	f.begin(Fault{Kind: "cut", Replica: r.id}, false)
	r.link.set(func() { r.link.state = c })
}

// LoseReplies has the store do what a replica asks, and the replica never learn so, until Heal.
func (f *Fleet) LoseReplies(replica string) {
	r := f.replica(replica)
	f.begin(Fault{Kind: "replies", Replica: replica}, false)
	r.link.set(func() { r.link.lost = 1 })
}

// Heal ends Cut and LoseReplies.
func (f *Fleet) Heal(replica string) {
	f.replica(replica).link.heal()
	f.end(replica, "", "cut", "replies", "slow")
}

// Kill ends a replica without a word: it calls the store no more, and its writes to a gate do not
// happen. It stays dead.
func (f *Fleet) Kill(replica string) {
	r := f.replica(replica)
	f.begin(Fault{Kind: "kill", Replica: replica}, false)
	r.link.set(func() { r.link.killed = true })
	f.leave(r)
}

// Stop stops a replica, as SIGTERM does: its runs may end within the shutdown grace. Stop does not
// wait for them.
func (f *Fleet) Stop(replica string) {
	r := f.replica(replica)
	f.begin(Fault{Kind: "stop", Replica: replica}, false)
	f.leave(r)
	f.shutdown(r)
}

func (f *Fleet) leave(r *replica) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r.left = true
}

func (f *Fleet) shutdown(r *replica) {
	if s := f.schedulerOf(r); s != nil {
		go func() { _ = s.Shutdown(context.Background()) }()
	}
}

// Pause freezes a replica until Resume: its calls to the store and its writes to a gate wait.
func (f *Fleet) Pause(replica string) {
	r := f.replica(replica)
	f.begin(Fault{Kind: "freeze", Replica: replica}, false)
	r.link.freeze()
}

// Resume ends Pause. A write that waited at a gate happens first.
func (f *Fleet) Resume(replica string) {
	f.replica(replica).link.goOn()
	f.end(replica, "", "freeze")
}

// Forget makes the store lose everything, as an emptied Redis does.
func (f *Fleet) Forget() {
	f.begin(Fault{Kind: "forget"}, true)
	f.shared.Forget()
}

// StepClock steps the store's clock by d.
func (f *Fleet) StepClock(d time.Duration) {
	f.begin(Fault{Kind: "clock", By: d}, true)
	f.shared.Step(d)
}

// PauseJob pauses a job of the whole fleet, as an operator does.
func (f *Fleet) PauseJob(job string) {
	f.t.Helper()
	f.begin(Fault{Kind: "pause", Job: job}, false)
	if _, err := f.shared.Pause(context.Background(), job, protocol.Pause{By: operator}); err != nil {
		f.t.Fatal(err)
	}
}

// ResumeJob ends PauseJob.
func (f *Fleet) ResumeJob(job string) {
	f.t.Helper()
	if _, err := f.shared.Resume(context.Background(), job, protocol.Resume{By: operator}); err != nil {
		f.t.Fatal(err)
	}
	f.end("", job, "pause")
}

// Trigger asks for one run of a job now, and returns the tick that serves it.
func (f *Fleet) Trigger(job, payload string) (tick time.Time) {
	f.t.Helper()
	f.begin(Fault{Kind: "trigger", Job: job}, true)
	answer, err := f.shared.Trigger(context.Background(), triggerOf(job, payload))
	if err != nil {
		f.t.Fatal(err)
	}
	return time.UnixMilli(answer.Tick).UTC()
}

const operator = "ops" // who pauses, resumes and triggers

func triggerOf(job, payload string) protocol.Trigger {
	return protocol.Trigger{Name: job, By: operator, Request: protocol.NewRequest(), Payload: payload}
}

func (f *Fleet) replica(id string) *replica {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.replicas, func(r *replica) bool { return r.id == id })
	if i < 0 {
		f.t.Fatalf("solotest: replica %q must be one of r1 to r%d", id, len(f.replicas))
	}
	return f.replicas[i]
}
