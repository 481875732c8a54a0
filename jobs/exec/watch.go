package exec

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// deathBound is how long a killed run, or the rest of an ended one, may take to die before its end is reported.
	deathBound = 2 * time.Second
	// drainBound is how long output may still come when everything of a run is gone.
	drainBound = 250 * time.Millisecond
	// lastBound is how long the guard process waits for its children to die once the worker is gone.
	lastBound = 5 * time.Second
)

// watch is the guard process. One goroutine, loop, owns all of it; others only send to its channels. Nothing that loop
// does can wait for a command, for the worker or for a file system, so no deadline ever has to.
type watch struct {
	requests   chan request
	childEnded chan os.Signal
	alarm      *alarm
	launcher   *launcher
	drained    chan *charge // one of its streams has ended
	inspected  chan []trait
	outbox     *outbox

	charges  map[uint64]*charge
	waiting  []*charge // to be started, in order
	starting *charge   // by the launcher, now

	sweepDue   bool
	sweepAgain instant // 0 means no such plan
	inspecting bool
	masked     map[int]instant // orphans that showed no mark when last inspected, with when that was first so
}

func (w *watch) loop() (code int) {
	for {
		w.alarm.set(w.wake())
		select {
		case r, ok := <-w.requests:
			if !ok {
				return w.end()
			}
			w.serve(r)
		case l := <-w.launcher.launched:
			w.launched(l)
		case <-w.childEnded:
			w.reapLeaders()
			w.sweepDue = true
		case traits := <-w.inspected:
			w.judge(traits)
		case c := <-w.drained:
			c.streams--
		case <-w.alarm.c:
		}
		now := bootNow()
		w.act(now)
		w.sweep(now)
		w.report(now)
		w.launch(now)
	}
}

// wake is when loop has something to do even if nothing happens before.
func (w *watch) wake() instant {
	next := never
	if w.sweepAgain != 0 {
		next = w.sweepAgain
	}
	for _, c := range w.charges {
		switch {
		case c.ended || c == w.starting:
		case c.pid == 0:
			next = min(next, c.plan.killAt())
		default:
			next = min(next, c.plan.wake())
		}
		if c.giveUp != 0 && !c.reported {
			next = min(next, c.giveUp)
		}
	}
	return next
}

func (w *watch) serve(r request) {
	now := bootNow()
	c := w.charges[r.Run]
	switch {
	case r.Verb == verbStart:
		c = &charge{id: r.Run, start: r.Start, plan: plan{grace: r.Grace, deadline: r.Deadline, learnt: now}}
		w.charges[c.id] = c
		w.waiting = append(w.waiting, c)
	case c == nil:
		// It has ended, and the worker will know in a moment.
	case r.Verb == verbExtend:
		c.plan.extend(r.Deadline, now)
	case r.Verb == verbStop:
		c.plan.stop(r.Grace, now)
	}
}

// act does what is due: it tells, kills, and refuses to start what would have to be killed.
func (w *watch) act(now instant) {
	for _, c := range w.charges {
		if c.ended || c == w.starting {
			continue
		}
		if c.pid == 0 {
			if reason := c.plan.refusal(now); reason != "" {
				w.finish(c, &end{Reason: reason})
			}
			continue
		}
		tell, kill := c.plan.due(now)
		if tell {
			_ = unix.Kill(-c.pid, unix.SIGTERM)
			_ = unix.Kill(-c.pid, unix.SIGCONT) // a stopped process would not see the signal
		}
		if kill {
			slay(c.pid)
			c.giveUp = now.add(deathBound)
			w.sweepDue = true
		}
	}
}

// launch hands the next waiting run to the launcher if that is idle.
func (w *watch) launch(now instant) {
	for w.starting == nil && len(w.waiting) > 0 {
		c := w.waiting[0]
		w.waiting = w.waiting[1:]
		if w.charges[c.id] != c {
			continue // refused
		}
		c.born, c.output = now, newOutput()
		w.starting = c
		w.launcher.requests <- c.start
	}
}

func (w *watch) launched(l launched) {
	c := w.starting
	w.starting = nil
	if l.failed != nil {
		w.finish(c, l.failed)
		return
	}
	c.pid, c.files, c.streams = l.pid, l.files, len(l.files)
	w.outbox.put(report{Run: c.id, PID: c.pid})
	for i, name := range []string{"stdout", "stderr"} {
		go func() {
			c.output.read(c.files[i], w.outbox, c, name)
			w.drained <- c
		}()
	}
	w.reapLeaders() // the signal that it has ended may have come before its number
}

// reapLeaders notes which leaders have ended, and kills what they have left in their groups.
func (w *watch) reapLeaders() {
	now := bootNow()
	for _, c := range w.charges {
		if c.pid == 0 || c.ended {
			continue
		}
		status, ended := reapLeader(c.pid)
		if !ended {
			continue
		}
		c.ended, c.status = true, status
		if c.reported {
			delete(w.charges, c.id)
			continue
		}
		if c.giveUp == 0 {
			c.giveUp = now.add(deathBound)
		}
		w.sweepDue = true
	}
}

// report reports the runs of which nothing is left, and those that have had their time.
func (w *watch) report(now instant) {
	for _, c := range w.charges {
		done := c.ended && c.clean && c.streams == 0
		if c.reported || !done && (c.giveUp == 0 || now < c.giveUp) {
			continue
		}
		reason := c.plan.reason
		if reason == "" {
			reason = ReasonExit
		}
		w.finish(c, &end{Reason: reason, Status: c.status, Alive: !c.ended})
	}
}

// finish reports the end of a run and forgets it. A leader that will not die stays known, to be reaped when it does.
func (w *watch) finish(c *charge, e *end) {
	for _, file := range c.files {
		_ = file.Close() // ends a read that is under way
	}
	if c.output != nil {
		e.Output, e.Dropped = c.output.tail(), c.output.droppedLines()
	}
	w.outbox.put(report{Run: c.id, End: e})
	if e.Alive {
		c.reported = true
		return
	}
	delete(w.charges, c.id)
}

// end kills everything, because the worker is gone.
func (w *watch) end() (code int) {
	for _, c := range w.charges {
		if c.pid != 0 && !c.ended {
			slay(c.pid)
		}
	}
	bound := time.NewTimer(lastBound)
	for {
		for _, pid := range children() {
			slay(pid)
		}
		for {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			if err == unix.ECHILD && w.starting == nil {
				return 0
			}
			if pid <= 0 {
				break
			}
		}
		select {
		case <-w.childEnded:
		case <-time.After(5 * time.Millisecond): // what was forked meanwhile
		case l := <-w.launcher.launched:
			w.starting = nil
			if l.failed == nil {
				slay(l.pid)
			}
		case <-bound.C:
			return 1
		}
	}
}
