package fleet

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
)

// Fleet shows and controls the jobs of the replicas that share a store. It is safe for concurrent
// use.
type Fleet struct {
	store     lease.Store
	namespace string
	age       time.Duration
	sets      *heartbeat.JobSets
}

// New makes a Fleet on the store that the replicas use. The namespace is that of
// the store.
func New(store lease.Store) (*Fleet, error) {
	f := &Fleet{store: store, age: wire.DefaultAge}
	if protocol.IsNil(store) {
		return nil, errors.New("fleet: store: nil, must be a store")
	}
	f.namespace, f.sets = store.Namespace(), heartbeat.NewJobSets(store)
	return f, nil
}

// Namespace returns the fleet's namespace.
func (f *Fleet) Namespace() string { return f.namespace }

// Now returns fleet time.
func (f *Fleet) Now(ctx context.Context) (time.Time, error) {
	now, _, err := f.store.Time(ctx)
	return now, err
}

// Pause is a pause of a job in the whole fleet.
type Pause struct {
	By     string    `api:"by"`
	Reason string    `api:"why"`   // at most 1024 bytes, in UTF-8
	Since  time.Time `api:"since"` // by fleet time
	Before bool      `api:"-"`     // of [Fleet.Pause]: the job was paused before, at Since
}

// pauseOf is nil for nil.
func pauseOf(p *protocol.Pause) *Pause {
	if p == nil {
		return nil
	}
	return &Pause{By: p.By, Reason: p.Reason, Since: p.Since}
}

// Pause makes the whole fleet skip the job's ticks until [Fleet.Resume], restarts of everything
// included. What runs goes on, and triggers run. A job that is paused stays so, with the newest
// reason and who gave it. It returns [ErrUnknown] for a job that no replica has ever contended for.
// Like Resume and Trigger, it fails with [ErrClock] when the store's clock cannot be trusted.
func (f *Fleet) Pause(ctx context.Context, job string, act Act) (Pause, error) {
	until, err := f.begin(ctx, act)
	if err != nil {
		return Pause{}, err
	}
	before := until.Add(-ClockLimit)
	var p protocol.Pause
	err = f.whenKnown(ctx, job, func() (err error) {
		p, err = f.store.Pause(ctx, job, protocol.Pause{By: act.By, Reason: act.Reason, Until: until})
		return err
	})
	if err != nil {
		return Pause{}, err
	}
	fact := act.fact(wire.FactPaused)
	mine := p.By == act.By && p.Reason == fact.Reason && (p.Reason != "" || p.Since.After(until.Add(-repeatedWithin)))
	fact.By, fact.Reason, fact.Why, fact.From = p.By, p.Reason, p.Reason, p.Since // perhaps that of an earlier call
	if mine {
		f.Note(ctx, job, fact)
	}
	return Pause{By: p.By, Reason: p.Reason, Since: p.Since, Before: p.Since.Before(before)}, nil
}

// Resume ends a pause, and skips every tick that came due in it. It returns the pause that it
// ended; nil when the job was not paused.
func (f *Fleet) Resume(ctx context.Context, job string, act Act) (*Pause, error) {
	until, err := f.begin(ctx, act)
	if err != nil {
		return nil, err
	}
	was, err := f.store.Resume(ctx, job, protocol.Resume{By: act.By, Until: until})
	if err != nil {
		return nil, named(job, err)
	}
	if was == nil {
		f.noteLostResume(ctx, job, act, until.Add(-ClockLimit))
		return nil, nil
	}
	now, err := f.Now(ctx)
	if err != nil {
		now = time.Time{}
	}
	f.noteResume(ctx, job, act, *was, now)
	return pauseOf(was), nil
}

func (f *Fleet) noteResume(ctx context.Context, job string, act Act, was protocol.Pause, at time.Time) {
	fact := act.fact(wire.FactResumed)
	fact.Pauser, fact.Why, fact.From, fact.To = was.By, was.Reason, was.Since, at
	f.Note(ctx, job, fact)
}

// noteLostResume records a resume whose answer was lost, when its caller repeats it. The record has
// the ticks that it skipped, and the journal the pause that it ended. Where these are not known,
// nobody is named.
func (f *Fleet) noteLostResume(ctx context.Context, job string, act Act, now time.Time) {
	r, err := f.store.Inspect(ctx, job)
	if err != nil || r.Paused != nil {
		return
	}
	i := slices.IndexFunc(r.Settled, func(s protocol.Settled) bool {
		return s.Note == protocol.NotePaused && s.Holder == act.By && s.From != 0 && s.At.After(now.Add(-repeatedWithin))
	})
	if i < 0 {
		return
	}
	facts, err := f.Facts(ctx, job)
	if err != nil {
		return
	}
	for _, fact := range facts { // newest first
		switch {
		case fact.Kind == wire.FactResumed:
			return
		case fact.Kind == wire.FactPaused && fact.From.Before(r.Settled[i].At):
			f.noteResume(ctx, job, act, protocol.Pause{By: fact.By, Reason: fact.Why, Since: fact.From}, r.Settled[i].At)
			return
		}
	}
}

// Replicas returns the replicas that live, sorted by id. Of one that says nothing this program
// understands, only the id is known. Where the store does not have the set of jobs that one names,
// its Jobs are nil for now: see [Replica].
func (f *Fleet) Replicas(ctx context.Context) ([]Replica, error) {
	members, err := f.store.Members(ctx)
	if err != nil {
		return nil, err
	}
	list := heartbeats(members)
	err = f.sets.Resolve(ctx, list)
	return replicas(list), err
}

// FormerReplicas returns the replicas that stopped or died within the last 24 h, the newest
// heartbeat first, at most 64 of them.
func (f *Fleet) FormerReplicas(ctx context.Context) ([]Replica, error) {
	members, err := f.store.FormerMembers(ctx)
	if err != nil {
		return nil, err
	}
	list := replicas(heartbeats(members))
	for i := range list {
		list[i].Gone = true
	}
	return list, nil
}

func heartbeats(members []protocol.Member) []heartbeat.Replica {
	list, sets := make([]heartbeat.Replica, 0, len(members)), make(heartbeat.JobLists)
	for _, m := range members {
		replica, err := sets.Decode(m.Info)
		if err != nil {
			replica = heartbeat.Replica{JobCount: -1}
		}
		if replica.Outlived(m.Remaining) {
			continue
		}
		replica.ID, replica.LastHeartbeat = m.Holder, m.LastHeartbeat // the id by which its leases are known
		list = append(list, replica)
	}
	return list
}

func replicas(list []heartbeat.Replica) []Replica {
	all := make([]Replica, len(list))
	for i, r := range list {
		all[i] = Replica(r)
	}
	return all
}

// tickID returns the id of a tick, as jobs.Run.TickID does.
func (f *Fleet) tickID(job string, tick time.Time) string {
	return jobs.Run{Namespace: f.namespace, Job: job, Tick: tick}.TickID()
}
