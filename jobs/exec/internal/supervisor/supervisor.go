// Package supervisor is the process that starts a worker's commands and keeps their deadlines, even
// while the worker is frozen and after it has died. The comment of package exec says what it
// promises.
package supervisor

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
	"github.com/solotick/solotick/jobs/exec/internal/proc"
	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

const (
	// deathTimeout is how long a killed run, or the rest of an ended one, may take to die before
	// its end is reported.
	deathTimeout = 2 * time.Second
	// drainTimeout is how long output may still come when no process of a run lives.
	drainTimeout = 250 * time.Millisecond
	// exitTimeout is how long the supervisor waits for its children to die once the worker is gone.
	exitTimeout = 5 * time.Second
)

// supervisor is the state of the process. One goroutine, loop, owns all of it; others only send to
// its channels. loop never waits for a command, for the worker or for a file system, so no deadline
// ever has to.
type supervisor struct {
	requests   chan protocol.Request
	childEnded chan os.Signal
	alarm      *alarm
	launcher   *launcher
	drained    chan *run // one of its streams has ended
	inspected  chan []orphan
	outbox     *outbox

	runs     map[uint64]*run
	waiting  []*run // to be started, in order
	starting *run   // by the launcher, now

	listDue    bool              // orphans are to be listed
	listAgain  bootclock.Instant // when they are to be listed even if nothing happens; 0 means never
	inspecting bool
	untagged   map[int]bootclock.Instant // orphans without a tag, with when they were first seen
}

func (s *supervisor) loop() (code int) {
	for {
		s.alarm.set(s.next())
		select {
		case r, ok := <-s.requests:
			if !ok {
				return s.shutDown()
			}
			s.handle(r)
		case l := <-s.launcher.launched:
			s.launched(l)
		case <-s.childEnded:
			s.reapGroupLeaders()
			s.listDue = true
		case orphans := <-s.inspected:
			s.killOrphans(orphans)
		case r := <-s.drained:
			r.streams--
		case <-s.alarm.c:
		}
		now := bootclock.Now()
		s.signalRuns(now)
		s.listOrphans(now)
		s.reportEnds(now)
		s.launchNext(now)
	}
}

// next is when loop has something to do even if nothing happens before.
func (s *supervisor) next() bootclock.Instant {
	next := bootclock.Never
	if s.listAgain != 0 {
		next = s.listAgain
	}
	for _, r := range s.runs {
		switch {
		case r.ended || r == s.starting:
		case r.pid == 0:
			next = min(next, r.plan.killAt())
		default:
			next = min(next, r.plan.next())
		}
		if r.reportBy != 0 && !r.reported {
			next = min(next, r.reportBy)
		}
	}
	return next
}

func (s *supervisor) handle(request protocol.Request) {
	now := bootclock.Now()
	r := s.runs[request.Run]
	switch {
	case request.Verb == protocol.VerbStart:
		r = &run{id: request.Run, start: request.Start,
			plan: plan{grace: request.Grace, deadline: request.Deadline, extended: now}}
		s.runs[r.id] = r
		s.waiting = append(s.waiting, r)
	case r == nil:
		// It has ended, and the worker will know in a moment.
	case request.Verb == protocol.VerbExtend:
		r.plan.extend(request.Deadline, now)
	case request.Verb == protocol.VerbStop:
		r.plan.stop(request.Grace, now)
	}
}

// signalRuns sends the signals that are due, and refuses to start runs that would have to be
// killed.
func (s *supervisor) signalRuns(now bootclock.Instant) {
	for _, r := range s.runs {
		if r.ended || r == s.starting {
			continue
		}
		if r.pid == 0 {
			if reason := r.plan.refusal(now); reason != "" {
				s.finish(r, &protocol.End{Reason: reason})
			}
			continue
		}
		term, kill := r.plan.due(now)
		if term {
			_ = unix.Kill(-r.pid, unix.SIGTERM)
			_ = unix.Kill(-r.pid, unix.SIGCONT) // a stopped process would not see the signal
		}
		if kill {
			killGroup(r.pid)
			r.reportBy = now.Add(deathTimeout)
			s.listDue = true
		}
	}
}

// launchNext hands the next waiting run to the launcher if that is idle.
func (s *supervisor) launchNext(now bootclock.Instant) {
	for s.starting == nil && len(s.waiting) > 0 {
		r := s.waiting[0]
		s.waiting = s.waiting[1:]
		if s.runs[r.id] != r {
			continue // refused
		}
		r.startedAt, r.output = now, newOutput()
		s.starting = r
		s.launcher.requests <- r.start
	}
}

func (s *supervisor) launched(l launched) {
	r := s.starting
	s.starting = nil
	if l.failed != nil {
		s.finish(r, l.failed)
		return
	}
	r.pid, r.files, r.streams = l.pid, l.files, len(l.files)
	s.outbox.Put(protocol.Report{Run: r.id, PID: r.pid})
	for i, name := range []string{"stdout", "stderr", ""} {
		go func() {
			if name == "" {
				readCheckpoints(r.files[i], s.outbox, r.id)
			} else {
				r.output.read(r.files[i], s.outbox, r, name)
			}
			s.drained <- r
		}()
	}
	s.reapGroupLeaders() // the signal that it has ended may have come before its number
}

// reapGroupLeaders reaps the group leaders that have ended, and kills the rest of their groups.
func (s *supervisor) reapGroupLeaders() {
	now := bootclock.Now()
	for _, r := range s.runs {
		if r.pid == 0 || r.ended {
			continue
		}
		status, ended := reapGroupLeader(r.pid)
		if !ended {
			continue
		}
		r.ended, r.status = true, status
		if r.reported {
			delete(s.runs, r.id)
			continue
		}
		if r.reportBy == 0 {
			r.reportBy = now.Add(deathTimeout)
		}
		s.listDue = true
	}
}

// reportEnds reports the runs of which no process lives, and those that have had their time.
func (s *supervisor) reportEnds(now bootclock.Instant) {
	for _, r := range s.runs {
		done := r.ended && r.clean && r.streams == 0
		if r.reported || !done && (r.reportBy == 0 || now < r.reportBy) {
			continue
		}
		reason := r.plan.reason
		if reason == "" {
			reason = protocol.ReasonExit
		}
		s.finish(r, &protocol.End{Reason: reason, Status: r.status, Alive: !r.ended})
	}
}

// finish reports the end of a run and forgets it. A run whose group leader will not die stays known
// until it does, to reap it.
func (s *supervisor) finish(r *run, end *protocol.End) {
	for _, file := range r.files {
		_ = file.Close() // ends a read that is under way
	}
	if r.output != nil {
		end.Output, end.Dropped = r.output.tail(), r.output.droppedLines()
	}
	s.outbox.Put(protocol.Report{Run: r.id, End: end})
	if end.Alive {
		r.reported = true
		return
	}
	delete(s.runs, r.id)
}

// shutDown kills everything, because the worker is gone.
func (s *supervisor) shutDown() (code int) {
	for _, r := range s.runs {
		if r.pid != 0 && !r.ended {
			killGroup(r.pid)
		}
	}
	timeout := time.NewTimer(exitTimeout)
	for {
		for _, pid := range proc.Children() {
			killGroup(pid)
		}
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if err == unix.ECHILD && s.starting == nil {
				return 0
			}
			if pid <= 0 {
				break
			}
		}
		select {
		case <-s.childEnded:
		case <-time.After(5 * time.Millisecond): // for children that were forked meanwhile
		case l := <-s.launcher.launched:
			s.starting = nil
			if l.failed == nil {
				killGroup(l.pid)
			}
		case <-timeout.C:
			return 1
		}
	}
}
