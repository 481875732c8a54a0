package scheduler

import (
	"github.com/solotick/solotick/scheduler/internal/membership"

	"context"
	"time"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/internal/wire"
)

// renote is how long a definition that was noted is not noted again. After that the journal may
// have dropped it.
const renote = 24 * time.Hour

// definitionNotes remembers which definitions this replica has noted.
type definitionNotes struct {
	noted map[string]bool // revisions
	began time.Time
	since time.Time // when the store began to remember
	set   *jobSet   // in which, with that order, nothing is left to note
	order *membership.Ranking
}

// noteDefinitions writes the definitions of this replica's jobs to the store, for people, until ctx
// ends. Only definitions whose revisions are in heartbeats are of use.
func (s *Scheduler) noteDefinitions(ctx context.Context) {
	var notes definitionNotes
	for ctx.Err() == nil {
		wait := probeEvery
		if s.health.IsUp() {
			since := s.remembersSince()
			if notes.noted == nil || time.Since(notes.began) > renote || !since.Equal(notes.since) {
				notes = definitionNotes{noted: map[string]bool{}, began: time.Now(), since: since}
			}
			s.noteMissing(ctx, &notes)
			wait = wire.HeartbeatInterval(s.ttl)
		}
		sleep.For(ctx, wait)
	}
}

// noteMissing notes the definitions of the jobs that this replica claims first, until a call fails.
// If every replica noted all of its jobs, most of the start of a large fleet would be spent on
// that.
func (s *Scheduler) noteMissing(ctx context.Context, notes *definitionNotes) {
	set, order := s.jobs.Load(), s.peers.Current()
	if len(set.revisions) > heartbeat.MostJobs || set == notes.set && order == notes.order {
		return
	}
	if order == nil {
		return // the members are not known yet
	}
	for name, revision := range set.revisions {
		if notes.noted[revision] || !order.First(name, revision) {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		limited, cancel := s.call()
		err := wire.NoteDefinition(limited, s.store, set.job(name))
		cancel()
		if err != nil {
			return
		}
		notes.noted[revision] = true
	}
	notes.set, notes.order = set, order
}

// remembersSince returns how far back the store remembers.
func (s *Scheduler) remembersSince() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since
}
