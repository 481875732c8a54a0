package scheduler

import (
	"context"
	"time"

	"github.com/solotick/solotick/fleet"
)

// renote is after how long a definition is noted again that the journal may have dropped.
const renote = 24 * time.Hour

// noteDefinitions keeps in the store how this replica's jobs are defined, for people, until ctx ends. Only those of which
// heartbeats name the revisions are of use.
func (s *Scheduler) noteDefinitions(ctx context.Context) {
	var noted map[string]bool // revisions
	var began, since time.Time
	for ctx.Err() == nil {
		wait := probeEvery
		if s.health.isUp() {
			if remembers := s.remembersSince(); noted == nil || time.Since(began) > renote || !remembers.Equal(since) {
				noted, began, since = map[string]bool{}, time.Now(), remembers
			}
			s.noteMissing(ctx, noted)
			wait = heartbeatEvery(s.term)
		}
		sleep(ctx, wait)
	}
}

// noteMissing adds to noted what it notes. It ends at the first failure.
func (s *Scheduler) noteMissing(ctx context.Context, noted map[string]bool) {
	set := s.jobs.Load()
	if len(set.revisions) > fleet.MostJobs {
		return
	}
	for name, revision := range set.revisions {
		if noted[revision] || ctx.Err() != nil {
			continue
		}
		limited, cancel := s.call()
		err := fleet.NoteDefinition(limited, s.facts.journal, set.job(name))
		cancel()
		if err != nil {
			return
		}
		noted[revision] = true
	}
}

// remembersSince returns since when the store has its records.
func (s *Scheduler) remembersSince() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since
}
