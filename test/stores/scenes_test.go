package stores

import (
	"time"
)

// ttl is that of every lease: long enough for a busy machine.
const ttl = 2 * time.Second

// outage is how long a server is away: for longer than a lease lasts, so that it ends each time.
const outage = 3 * ttl / 2

// The promises, by the names that they have in the cells of the table.
const (
	once       = "once"
	none       = "every tick"
	again      = "again"
	takenOver  = "takeover"
	handedOver = "handover"
	tokens     = "tokens"
	paused     = "pause"
	history    = "history"
	triggered  = "trigger"
)

// meanings say what is promised, in the order of the cells.
var meanings = []struct{ promise, meaning string }{
	{once, "no tick runs again after it has succeeded, nor on two replicas at once; the token keeps a frozen one from writing"},
	{none, "each tick of a schedule runs"},
	{again, "a run that the fault has interrupted is made again"},
	{handedOver, "the tick of a replica that is stopped goes on with another within 1 s"},
	{takenOver, "the tick of a replica that fails goes on with another within the TTL and 1 s"},
	{tokens, "a later grant has a higher token"},
	{paused, "a job that was paused stays so"},
	{history, "what was settled can be looked up, as what it was"},
	{triggered, "a trigger that is repeated with its key runs once"},
}

// The faults, so too.
const (
	stopped      = "replica stopped"
	killed       = "replica killed"
	frozen       = "replica frozen"
	allKilled    = "all replicas killed, back after 1.5 s"
	cutOff       = "replica cut off"
	serverFrozen = "server frozen for 3 s"
	serverKilled = "server killed, back after 3 s"
	emptied      = "emptied"
	restored     = "backup restored, back after 3 s"
	clockStepped = "clock 1 h ahead for 2 s"
	failedOver   = "failover, all replicas killed"

	allServersKilled = "all servers killed, back after 1.2 to 6 TTLs"
	allServersFrozen = "all servers frozen for 1.2 to 6 TTLs"
	allCutOff        = "all replicas cut off for 1.2 to 6 TTLs"
)

var always = []string{once, none, again, tokens, paused, history, triggered}

// scene is a fault, and the promises that are judged after it.
type scene struct {
	fault    string
	promises []string
	quick    bool          // it is part of the short form
	ofServer bool          // of the servers, so that no other scene may use them meanwhile
	outage   bool          // all servers are away: three replicas run a burst of jobs, too
	long     time.Duration // how long a run takes that nothing interrupts
	// do brings the fault about, and ends it.
	do func(st *stage)
	// chance says that messages between replicas may be lost with the connections to the server, and
	// that a promise may be kept all the same.
	chance bool
}

// replicas are those that play the scene.
func (s scene) replicas() []string {
	if s.outage {
		return []string{"r1", "r2", "r3"}
	}
	return []string{"r1", "r2"}
}

// scenes are the faults, in the order of the table's rows.
var scenes = append([]scene{
	{
		fault: stopped, promises: append([]string{handedOver}, always...), long: time.Minute,
		do: func(st *stage) {
			st.fails(st.fleet.Stop)
			st.took(handedOver, st.next().Began.Sub(st.first().Ended), 0)
		},
	}, {
		fault: killed, promises: append([]string{takenOver}, always...), long: time.Minute, quick: true,
		do: func(st *stage) {
			st.fails(st.fleet.Kill)
			st.took(takenOver, st.next().Began.Sub(st.failed), ttl)
		},
	}, {
		fault: frozen, promises: append([]string{takenOver}, always...), long: time.Minute,
		do: func(st *stage) {
			st.fails(st.fleet.Pause)
			st.took(takenOver, st.next().Began.Sub(st.failed), ttl)
			st.fleet.Resume()
		},
	}, {
		fault: cutOff, promises: append([]string{takenOver}, always...), long: time.Minute,
		do: func(st *stage) {
			st.fails(st.fleet.Cut)
			st.took(takenOver, st.next().Began.Sub(st.failed), ttl)
			st.fleet.Heal()
		},
	}, {
		fault: allKilled, promises: append([]string{takenOver}, always...), long: time.Minute,
		do: func(st *stage) {
			st.killAll()
			st.failed = time.Now()
			time.Sleep(3 * ttl / 4)
			st.fleet.Start(st.scene.replicas()...)
			st.took(takenOver, st.next().Began.Sub(st.failed), ttl)
		},
	}, {
		fault: serverFrozen, promises: always, long: 5 * time.Second, ofServer: true,
		do: func(st *stage) {
			st.server.freeze()
			time.Sleep(outage)
			st.server.thaw()
		},
	}, {
		fault: serverKilled, promises: always, long: 5 * time.Second, ofServer: true, quick: true,
		do: func(st *stage) {
			st.server.kill()
			time.Sleep(outage)
			st.server.restart()
		},
	}, {
		fault: emptied, chance: true, promises: always, long: 5 * time.Second, ofServer: true,
		do: func(st *stage) { st.server.empty() },
	}, {
		fault: restored, chance: true, promises: always, long: 5 * time.Second, ofServer: true,
		do: func(st *stage) {
			if !st.kit.coldRestore {
				st.server.restore()
				return
			}
			for _, r := range st.scene.replicas() {
				st.fleet.Stop(r)
			}
			st.server.restore()
			st.fleet.Start(st.scene.replicas()...)
		},
	}, {
		fault: clockStepped, promises: always, long: 5 * time.Second, ofServer: true,
		do: func(st *stage) {
			st.server.stepClock(time.Hour)
			time.Sleep(ttl)
			st.server.stepClock(0)
		},
	}, {
		fault: failedOver, promises: always, long: time.Minute, ofServer: true,
		do: func(st *stage) {
			st.server.failOver(func() {
				st.last()
				st.killAll()
			})
			st.fleet.Start(st.scene.replicas()...)
		},
	},
}, outages...)
