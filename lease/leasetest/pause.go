package leasetest

import (
	"errors"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func (f *fixture) pause(by, why string) protocol.Pause {
	f.Helper()
	p, err := f.store.Pause(f.ctx, f.name, protocol.Pause{By: by, Reason: why})
	f.ok("Pause", err)
	return p
}

func (f *fixture) resume(by string) *protocol.Pause {
	f.Helper()
	p, err := f.store.Resume(f.ctx, f.name, protocol.Resume{By: by})
	f.ok("Resume", err)
	return p
}

func pauseSkipsWhatIsNew(f *fixture) {
	before := f.now()
	p := f.pause("ops", "taking stock")
	f.equal("pause", p, protocol.Pause{By: "ops", Reason: "taking stock", Since: p.Since})
	f.between("paused since", p.Since.Sub(before.Truncate(time.Microsecond)), 0, f.now().Sub(before))
	f.equal("pause", f.record().Paused, &p)
	f.equal("pause", f.inspect(f.name).Paused, &p)
	for i, o := range []protocol.Overlap{
		protocol.OverlapAllow, protocol.OverlapSkip, protocol.OverlapWait, protocol.OverlapQueue, protocol.OverlapReplace,
	} {
		n := int64(100 + i)
		c := f.of(n, "a", overlap(o))
		for range 2 {
			f.equal("watermark", f.ask(protocol.Paused, c).Watermark, n)
		}
		f.ask(protocol.Decided, f.of(n, "b", overlap(o)))
	}
	// What could not be granted anyway is not decided either.
	f.ask(protocol.Early, f.of(200, "a", notBefore(f.now().Add(time.Hour))))
	f.ask(protocol.Late, f.of(200, "a", notAfter(f.now().Add(-time.Hour))))
	f.ask(protocol.Decided, f.of(200, "a", onlyOpen))
	f.equal("watermark", f.record().Watermark, int64(104))
	f.grant(0, "a") // a plain lock is no tick
}

func pauseIsIdempotent(f *fixture) {
	p := f.pause("ops", "taking stock")
	f.until(p.Since.Add(time.Millisecond))
	f.equal("pause", f.pause("ops", "taking stock"), p)
	f.equal("pause of another without a reason", f.pause("other", ""), p)
	p.By, p.Reason = "other", "still counting"
	f.equal("pause with a new reason", f.pause("other", "still counting"), p)
	f.equal("ended", f.resume("ops"), &p)
	watermark := f.record().Watermark
	f.until(time.UnixMilli(watermark + 2))
	if again := f.resume("ops"); again != nil {
		f.Fatalf("a resume of what is not paused ended %+v", again)
	}
	f.equal("watermark", f.record().Watermark, watermark)
	f.equal("settled", len(f.settled()), 1)

	later := f.pause("other", "")
	f.above("paused since", later.Since.UnixMicro(), p.Since.UnixMicro())
	f.equal("pause", later, protocol.Pause{By: "other", Since: later.Since})
}

func resumeDecidesWhatCameDue(f *fixture) {
	f.grant(100, "a")
	f.pause("ops", "")
	before := f.now()
	f.resume("ops")
	watermark := f.record().Watermark
	if watermark < before.UnixMilli() || watermark > f.now().UnixMilli() {
		f.Fatalf("mark: %d, want the clock's %d or little more", watermark, before.UnixMilli())
	}
	if p := f.record().Paused; p != nil {
		f.Fatalf("still paused: %+v", p)
	}
	f.ask(protocol.Decided, f.of(watermark, "a"))
	f.grant(watermark+1, "a")

	// A watermark that lies ahead stays where it is.
	ahead := watermark + time.Hour.Milliseconds()
	_, passed := f.pass(watermark+1, ahead, "p")
	f.equal("passed", passed, true)
	f.pause("ops", "")
	settled := f.settled()
	f.resume("ops")
	f.equal("watermark", f.record().Watermark, ahead)
	f.equal("settled", f.settled(), settled)
}

func resumeLeavesWhatIsDueLater(f *fixture) {
	const jitter = time.Hour
	f.policy(protocol.Policy{Jitter: jitter})
	f.grant(100, "a")
	f.pause("ops", "")
	before := f.now()
	f.resume("ops")
	r := f.record()
	f.between("resumed", r.Resumed.Sub(before), -time.Millisecond, f.now().Sub(before))
	f.equal("watermark", r.Watermark, r.Resumed.Add(-jitter).UnixMilli())
	f.ask(protocol.Decided, f.of(r.Watermark, "a"))
	f.ask(protocol.Paused, f.of(r.Watermark+1, "a", notBefore(r.Resumed)))
	due := r.Resumed.Add(time.Millisecond)
	f.until(due)
	later := r.Resumed.Add(-jitter / 2).UnixMilli()
	f.grant(later, "a", notBefore(due))

	// A watermark that lies within the jitter stays where it is.
	f.pause("ops", "")
	settled := f.settled()
	f.resume("ops")
	f.equal("watermark", f.record().Watermark, later)
	f.equal("settled", f.settled(), settled)
	f.above("resumed", f.record().Resumed.UnixMilli(), r.Resumed.UnixMilli())
}

func noRoomIsGrantedNothing(f *fixture) {
	noRoom := func(c *protocol.Claim) { c.NoRoom = true }
	f.equal("in the way", f.ask(protocol.Busy, f.of(100, "a", noRoom)).Holder, "")
	held := f.grant(100, "a")
	f.ask(protocol.Held, f.of(100, "b", noRoom))
	f.ask(protocol.Skipped, f.of(101, "b", overlap(protocol.OverlapSkip), noRoom))
	waits := f.of(102, "a", overlap(protocol.OverlapReplace), noRoom)
	f.ask(protocol.Queued, waits)
	f.ok("Settle", f.settle(held, protocol.OutcomeReplaced))
	f.ask(protocol.Queued, waits)
	next := f.grant(102, "a", overlap(protocol.OverlapReplace))
	f.ok("Release", f.release(next))
	f.ask(protocol.Held, f.of(102, "b", noRoom))
	next = f.grant(102, "a")
	f.ok("Settle", f.settle(next, "succeeded"))
	f.pause("ops", "")
	f.ask(protocol.Paused, f.of(103, "a", noRoom))
}

func pauseLeavesTheOpenAlone(f *fixture) {
	held, free := f.grant(100, "a"), f.expired(101, "a")
	c := f.of(102, "b", queue)
	f.ask(protocol.Queued, c)
	f.pause("ops", "")
	f.ok("Renew", f.renew(held))
	f.ask(protocol.Held, f.of(100, "b"))
	next := f.grant(101, "b")
	f.equal("attempt", next.Attempt, free.Attempt+1)
	f.ok("Release", f.release(next))
	f.ok("Settle", f.settle(held, "succeeded"))
	f.ok("Settle", f.settle(next, "succeeded"))
	f.ask(protocol.Granted, c)
	f.resume("ops")
	f.ask(protocol.Granted, c)
}

func triggeredIsGrantedWhilePaused(f *fixture) {
	f.pause("ops", "")
	g := f.granted(f.open())
	f.ok("Settle", f.settle(g, "succeeded"))
	n := f.open()
	f.resume("ops")
	f.granted(n) // and after the resume, whether or not the watermark has gone past it
}

func withoutARecordNothingIsRuled(f *fixture) {
	c := f.store
	name := f.other("x")
	for range 2 {
		_, pause := c.Pause(f.ctx, name, protocol.Pause{By: "ops"})
		_, resume := c.Resume(f.ctx, name, protocol.Resume{By: "ops"})
		_, trigger := c.Trigger(f.ctx, protocol.Trigger{Name: name, By: "ops", Request: "t", Key: "k", Window: long})
		for verb, err := range map[string]error{"Pause": pause, "Resume": resume, "Trigger": trigger} {
			if !errors.Is(err, protocol.ErrUnknown) {
				f.Fatalf("%s: %v, want protocol.ErrUnknown", verb, err)
			}
		}
		f.grant(0, "a", named(name), request("lock")) // a plain lock makes no record
	}
	r := f.sync(protocol.Sync{Name: name, Watermark: 5})
	f.equal("made", r.Made, true)
	if r.Paused != nil {
		f.Fatalf("paused: %+v", r.Paused)
	}
}

func syncPausesOnlyNewRecords(f *fixture) {
	p := protocol.Pause{By: "ops", Reason: "taking stock", Since: f.now().Add(-time.Hour + 123*time.Nanosecond)}
	other := protocol.Pause{By: "other", Since: f.now()}
	want := p
	want.Since = p.Since.Truncate(time.Microsecond)
	name := f.other("x")
	for i, paused := range []*protocol.Pause{&p, nil, &other} {
		r := f.sync(protocol.Sync{Name: name, Watermark: 50, Paused: paused})
		f.equal("made", r.Made, i == 0)
		f.equal("pause", r.Paused, &want)
	}
	f.name = name
	f.ask(protocol.Paused, f.of(100, "a"))
	f.equal("ended", f.resume("ops"), &want)
	if r := f.sync(protocol.Sync{Name: name, Paused: &p}); r.Paused != nil {
		f.Fatalf("a record that was there is paused: %+v", r.Paused)
	}
}

func syncKeepsTheRevision(f *fixture) {
	f.equal("revision", f.record(), protocol.Record{Name: f.name})
	const odd = "v1/a=3:{}%'~"
	var last protocol.Record
	for _, y := range []struct {
		brought, want string
		newer         bool
	}{{odd, odd, true}, {"", odd, false}, {odd, odd, false}, {"2", "2", true}, {odd, odd, true}} {
		asked := f.now()
		f.until(asked.Add(time.Millisecond))
		r := f.sync(protocol.Sync{Name: f.name, Revision: y.brought})
		f.equal("revision", r.Revision, y.want)
		f.equal("newer", r.Revised.After(last.Revised), y.newer)
		f.equal("newer", r.Revised.After(asked), y.newer)
		if r.Revised.After(f.now()) {
			f.Fatalf("revised at %s, which lies ahead", r.Revised)
		}
		f.equal("record", f.record(), r)
		f.equal("record", f.inspect(f.name), r)
		last = r
	}
}

func syncKeepsTheSchedulesSinceTheWatermark(f *fixture) {
	bring := func(revision string) (texts []string) {
		asked := f.now()
		f.until(asked.Add(2 * time.Millisecond))
		r := f.sync(protocol.Sync{Name: f.name, Revision: revision, Schedule: "UTC @every " + revision + "s"})
		f.equal("schedules", f.inspect(f.name).Schedules, r.Schedules)
		f.equal("the last one's since", r.Schedules[len(r.Schedules)-1].Since, r.Revised)
		for i, s := range r.Schedules {
			texts = append(texts, strings.TrimSuffix(strings.TrimPrefix(s.Text, "UTC @every "), "s"))
			if i > 0 {
				f.above("since", s.Since.UnixMicro(), r.Schedules[i-1].Since.UnixMicro())
			}
		}
		return texts
	}
	f.record()
	f.equal("schedules", bring("1"), []string{"1"})
	f.equal("schedules", bring("1"), []string{"1"})
	f.equal("schedules", bring("2"), []string{"1", "2"})
	f.equal("schedules", bring("1"), []string{"1", "2", "1"})
	f.equal("schedules", bring("3"), []string{"1", "2", "1", "3"})
	f.equal("schedules", bring("4"), []string{"1", "1", "3", "4"})
	f.equal("schedules", bring("5"), []string{"1", "3", "4", "5"})
	f.pass(0, f.record().Schedules[2].Since.UnixMilli()+1, "p") // the third was in force
	f.equal("schedules", bring("6"), []string{"4", "5", "6"})
	f.pass(f.record().Watermark, f.now().UnixMilli(), "q")
	f.equal("schedules", bring("7"), []string{"6", "7"})
	f.sync(protocol.Sync{Name: f.name, Revision: "8"}) // without a word about its schedule
	f.equal("schedules", f.record().Schedules[2], protocol.Schedule{Since: f.record().Revised})
}

func faultyPausesAreRefused(f *fixture) {
	c := f.store
	for what, p := range map[string]struct{ name, by string }{
		"nobody":             {f.name, ""},
		"two words":          {f.name, "two words"},
		"a name with a line": {"a\nb", "ops"},
		"no name":            {"", "ops"},
	} {
		_, err := c.Pause(f.ctx, p.name, protocol.Pause{By: p.by})
		f.refused("a pause: "+what, err)
		_, err = c.Resume(f.ctx, p.name, protocol.Resume{By: p.by})
		f.refused("a resume: "+what, err)
	}
	if p := f.record().Paused; p != nil {
		f.Fatalf("paused: %+v", p)
	}
	f.equal("length", len(f.pause("ops", strings.Repeat("x", protocol.MaxReason+1)).Reason), protocol.MaxReason)
}
