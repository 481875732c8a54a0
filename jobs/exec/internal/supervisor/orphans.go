package supervisor

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/solotick/solotick/jobs/exec/internal/bootclock"
	"github.com/solotick/solotick/jobs/exec/internal/proc"
)

// inspectAgain is how soon orphans without a tag are inspected again: one that is just executing a
// program shows none.
const inspectAgain = 2 * time.Millisecond

// An orphan is a child of the supervisor that is no group leader. Its parent, some process of a
// run, has ended, and it came to the supervisor because that is a subreaper. The tag in its
// environment says to which run it belongs.
type orphan struct {
	pid   int
	tag   string            // "" if it shows none
	start bootclock.Instant // when it was started, rounded down to proc.StartGrain
}

// listOrphans lists the orphans, reaps those that have ended and has the others inspected. The list
// stays true until killOrphans is done with it, for nothing else reaps: no number on it can become
// another process's.
func (s *supervisor) listOrphans(now bootclock.Instant) {
	if s.listAgain != 0 && now >= s.listAgain {
		s.listAgain, s.listDue = 0, true
	}
	// A group leader that is being started would look like an orphan.
	if !s.listDue || s.inspecting || s.starting != nil {
		return
	}
	s.listDue = false

	leaders := make(map[int]bool, len(s.runs))
	for _, r := range s.runs {
		r.listed = r.ended
		if r.pid != 0 && !r.ended {
			leaders[r.pid] = true
		}
	}
	var orphans []orphan
	for _, pid := range proc.Children() {
		if leaders[pid] {
			continue
		}
		if reaped, _ := unix.Wait4(pid, nil, unix.WNOHANG, nil); reaped == 0 {
			orphans = append(orphans, orphan{pid: pid})
		}
	}
	if len(orphans) == 0 {
		s.killOrphans(nil)
		return
	}
	s.inspecting = true
	go func() { // apart from loop: a read in /proc waits for whatever the process waits for
		for i, o := range orphans {
			_, start := proc.Stat(o.pid)
			orphans[i] = orphan{pid: o.pid, tag: proc.TagOf(o.pid), start: start}
		}
		s.inspected <- orphans
	}()
}

// killOrphans kills the orphans of runs that are over, and notes which runs have none.
func (s *supervisor) killOrphans(orphans []orphan) {
	s.inspecting = false
	now := bootclock.Now()

	byTag := make(map[string]*run, len(s.runs))
	for _, r := range s.runs {
		byTag[r.start.Tag] = r
	}
	unsure := false // whose the untagged ones are
	untagged := make(map[int]bootclock.Instant)
	left := make(map[*run]bool)
	for _, o := range orphans {
		owner, seen := byTag[o.tag], s.untagged[o.pid]
		switch {
		case o.tag == "" && seen == 0:
			untagged[o.pid] = now
			unsure = true
			s.listAgain = now.Add(inspectAgain)
		case o.tag == "":
			untagged[o.pid] = seen
			if !s.mayBelongToRunning(o) {
				killGroup(o.pid)
				// Runs that have ended wait until it is gone, up to a timeout: the supervisor may
				// lack the permission.
				unsure = unsure || now < seen.Add(deathTimeout)
			}
		case owner == nil || !owner.running():
			killGroup(o.pid)
			left[owner] = true
		}
	}
	s.untagged = untagged

	for _, r := range s.runs {
		if r.listed && !unsure && !left[r] && !r.clean {
			r.clean = true
			r.reportBy = min(r.reportBy, now.Add(drainTimeout))
		}
		r.listed = false
	}
}

// mayBelongToRunning reports whether a run that goes on is old enough to have started an orphan
// that shows no tag.
func (s *supervisor) mayBelongToRunning(o orphan) bool {
	for _, r := range s.runs {
		if r.startedAt != 0 && r.running() && r.startedAt <= o.start.Add(proc.StartGrain) {
			return true
		}
	}
	return false
}
