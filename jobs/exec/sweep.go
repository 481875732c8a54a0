package exec

import (
	"time"

	"golang.org/x/sys/unix"
)

// An orphan is a child of the guard that leads no run: its parent, some process of a run, has ended, and it became the
// guard's because that is a subreaper. The mark in its environment says which run it belongs to.

const (
	// secondLook is when orphans without a mark are looked at again: one that is just executing a program shows none.
	secondLook = 2 * time.Millisecond
	// startGrain is the unit in which the system tells when a process was started.
	startGrain = 10 * time.Millisecond
)

// trait is what can be seen of an orphan.
type trait struct {
	pid   int
	mark  string  // empty if it shows none
	start instant // when it was started, rounded down to startGrain
}

// sweep lists the orphans, reaps those that have ended and has the others inspected. What it lists stays as it is until
// judge is done with it, for nothing else reaps: no number on the list can become another process's.
func (w *watch) sweep(now instant) {
	if w.sweepAgain != 0 && now >= w.sweepAgain {
		w.sweepAgain, w.sweepDue = 0, true
	}
	if !w.sweepDue || w.inspecting || w.starting != nil { // a leader being started would look like an orphan
		return
	}
	w.sweepDue = false

	leaders := make(map[int]bool, len(w.charges))
	for _, c := range w.charges {
		c.listed = c.ended
		if c.pid != 0 && !c.ended {
			leaders[c.pid] = true
		}
	}
	var orphans []int
	for _, pid := range children() {
		if leaders[pid] {
			continue
		}
		if reaped, _ := unix.Wait4(pid, nil, unix.WNOHANG, nil); reaped == 0 {
			orphans = append(orphans, pid)
		}
	}
	if len(orphans) == 0 {
		w.judge(nil)
		return
	}
	w.inspecting = true
	go func() { w.inspected <- inspect(orphans) }() // apart from loop: /proc waits for what a process is waiting for
}

// judge kills the orphans of runs that are over, and marks the runs clean that have none.
func (w *watch) judge(orphans []trait) {
	w.inspecting = false
	now := bootNow()

	byMark := make(map[string]*charge, len(w.charges))
	for _, c := range w.charges {
		byMark[c.start.Mark] = c
	}
	unsure := false // whose the masked ones are
	masked := make(map[int]instant)
	left := make(map[*charge]bool)
	for _, o := range orphans {
		owner, seen := byMark[o.mark], w.masked[o.pid]
		switch {
		case o.mark == "" && seen == 0:
			masked[o.pid] = now
			unsure = true
			w.sweepAgain = now.add(secondLook)
		case o.mark == "":
			masked[o.pid] = seen
			if !w.mayBelongToLiving(o) {
				slay(o.pid)
				// Runs that have ended wait until it is gone, but not for ever: it may be one that the guard may not kill.
				unsure = unsure || now < seen.add(deathBound)
			}
		case owner == nil || !owner.alive():
			slay(o.pid)
			left[owner] = true
		}
	}
	w.masked = masked

	for _, c := range w.charges {
		if c.listed && !unsure && !left[c] && !c.clean {
			c.clean = true
			c.giveUp = min(c.giveUp, now.add(drainBound))
		}
		c.listed = false
	}
}

// mayBelongToLiving reports whether a run that goes on is old enough to have started an orphan that shows no mark.
func (w *watch) mayBelongToLiving(o trait) bool {
	for _, c := range w.charges {
		if c.born != 0 && c.alive() && c.born <= o.start.add(startGrain) {
			return true
		}
	}
	return false
}
