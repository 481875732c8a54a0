package leasetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// point makes a checkpoint of a grant.
func point(g protocol.Grant, data string) protocol.Checkpoint {
	return protocol.Checkpoint{Name: g.Name, Tick: g.Tick, Token: g.Token, Data: []byte(data), Remaining: long}
}

// checkpoint writes one checkpoint.
func (f *fixture) checkpoint(c protocol.Checkpoint) error {
	f.Helper()
	answers := f.store.Checkpoint(f.ctx, []protocol.Checkpoint{c})
	if len(answers) != 1 {
		f.Fatalf("Checkpoint of one tick gave %d answers", len(answers))
	}
	return answers[0]
}

// checkpoints wants these positions of a name, the one that was written last at the end.
func (f *fixture) checkpoints(name string, want ...string) []protocol.Checkpoint {
	f.Helper()
	list, err := f.store.Checkpoints(f.ctx, name)
	f.ok("Checkpoints", err)
	var got []string
	for _, c := range list {
		got = append(got, string(c.Data))
	}
	f.equal("checkpoints", got, want)
	return list
}

func checkpointIsKeptForTheNextAttempt(f *fixture) {
	g, other := f.expired(1, "a"), f.grant(2, "a")
	f.checkpoints(f.name)
	f.ok("Checkpoint", f.checkpoint(point(g, "page 1")))
	c := point(g, "page 2 \x00\xff")
	c.Revision, c.Percent, c.Text = "r1", 40, "40 of 100"
	before := f.now()
	f.ok("Checkpoint", f.checkpoint(c))
	f.ok("Checkpoint", f.checkpoint(c)) // the answer was lost, and it is asked again
	f.ok("Checkpoint", f.checkpoint(point(other, "")))
	got := f.checkpoints(f.name, "page 2 \x00\xff", "")[0]
	if got.At.Before(before.Truncate(time.Microsecond)) || got.At.After(f.now()) {
		f.Fatalf("written at %s", got.At)
	}
	got.At, got.Remaining = time.Time{}, long
	f.equal("checkpoint", got, c)

	next := f.grant(1, "b")
	f.checkpoints(f.name, "page 2 \x00\xff", "")
	f.ok("Checkpoint", f.checkpoint(point(next, "page 3")))
	f.ok("Settle", f.settle(next, protocol.OutcomeFailed))
	f.checkpoints(f.name, "", "page 3")
	f.again()
	f.checkpoints(f.name)
}

func checkpointOfALowerTokenIsFenced(f *fixture) {
	g := f.expired(1, "a")
	f.ok("Checkpoint", f.checkpoint(point(g, "old")))
	next := f.grant(1, "b")
	f.ok("Checkpoint", f.checkpoint(point(next, "new")))
	f.fenced("Checkpoint", f.checkpoint(point(g, "late")))
	gone := point(g, "")
	gone.Clear = true
	f.fenced("Checkpoint", f.checkpoint(gone))
	f.checkpoints(f.name, "new")
	gone.Token = next.Token
	for range 2 {
		f.ok("Checkpoint", f.checkpoint(gone))
		f.checkpoints(f.name)
	}
}

func checkpointAfterTheLeaseIsRefused(f *fixture) {
	g := f.grant(1, "a")
	c := point(g, "late")
	for _, c.Remaining = range []time.Duration{-time.Millisecond, -time.Second} {
		if _, ok := errors.AsType[*protocol.BoundsError](f.checkpoint(c)); !ok {
			f.Fatalf("a checkpoint with %s of its lease was written", c.Remaining)
		}
	}
	f.checkpoints(f.name)
}

func checkpointLeavesTheRecordAlone(f *fixture) {
	g := f.grant(1, "a")
	f.sync(protocol.Sync{Name: f.name})
	before, err := f.store.Inspect(f.ctx, f.name)
	f.ok("Inspect", err)
	f.ok("Checkpoint", f.checkpoint(point(g, "here")))
	after, err := f.store.Inspect(f.ctx, f.name)
	f.ok("Inspect", err)
	for _, r := range []*protocol.Record{&before, &after} {
		r.Open[0].Remaining = 0
	}
	f.equal("record", after, before)
	f.ok("Renew", f.renew(g))
}

func checkpointsAreBounded(f *fixture) {
	full := string(bytes.Repeat([]byte("x"), protocol.MaxCheckpoint))
	var last protocol.Grant
	for tick := int64(1); ; tick++ {
		last = f.grant(tick, "a")
		err := f.checkpoint(point(last, full))
		if err == nil && tick < 16 {
			continue
		}
		if !errors.Is(err, protocol.ErrCheckpoints) || tick < 15 {
			f.Fatalf("checkpoint %d: %v", tick, err)
		}
		break
	}
	list, err := f.store.Checkpoints(f.ctx, f.name)
	f.ok("Checkpoints", err)
	f.equal("number", len(list), int(last.Tick)-1)
	list[0].Remaining = long
	f.ok("Checkpoint", f.checkpoint(list[0])) // there is room for what is kept
	f.ok("Renew", f.renew(last))
}

func checkpointsOfSettledTicksMakeRoom(f *fixture) {
	full := string(bytes.Repeat([]byte("x"), protocol.MaxCheckpoint))
	open := f.grant(1, "a")
	f.ok("Checkpoint", f.checkpoint(point(open, "mine")))
	for tick := int64(2); tick < 20; tick++ {
		g := f.grant(tick, "a")
		f.ok("Checkpoint", f.checkpoint(point(g, full)))
		f.ok("Settle", f.settle(g, protocol.OutcomeFailed))
	}
	list, err := f.store.Checkpoints(f.ctx, f.name)
	f.ok("Checkpoints", err)
	if list[0].Tick != 1 || list[len(list)-1].Tick != 19 || list[1].Tick == 2 {
		f.Fatalf("checkpoints from %d, %d to %d are kept", list[0].Tick, list[1].Tick, list[len(list)-1].Tick)
	}
}

func checkpointsGoWithTheirRecord(f *fixture) {
	g := f.grant(1, "a")
	f.ok("Checkpoint", f.checkpoint(point(g, "here")))
	f.ok("Settle", f.settle(g, protocol.OutcomeFailed))
	f.remove(protocol.RecordRemoved, f.removal())
	f.checkpoints(f.name)
}

func faultyCheckpointsAreRefused(f *fixture) {
	good := point(f.grant(1, "a"), "here")
	faulty := []protocol.Checkpoint{good, good, good, good, good, good}
	faulty[0].Name = "a b"
	faulty[1].Tick = 0
	faulty[2].Token = 0
	faulty[3].Data = make([]byte, protocol.MaxCheckpoint+1)
	faulty[4].Percent = 101
	for i, err := range f.store.Checkpoint(f.ctx, faulty) {
		if (err == nil) != (i == 5) {
			f.Errorf("checkpoint %d: %v", i, err)
		}
	}
	f.checkpoints(f.name, "here")
	if _, err := f.store.Checkpoints(f.ctx, "a b"); err == nil {
		f.Error("checkpoints of a b: no error")
	}
}

func manyCheckpointsAtOnce(f *fixture) {
	const ticks, times = 8, 5
	var all sync.WaitGroup
	var want []string
	for tick := range int64(ticks) {
		g := f.grant(tick+1, "a")
		want = append(want, fmt.Sprint(tick, " ", times))
		all.Go(func() {
			for i := range times {
				if err := f.checkpoint(point(g, fmt.Sprint(tick, " ", i+1))); err != nil {
					f.Error(err)
				}
			}
		})
	}
	all.Wait()
	list, err := f.store.Checkpoints(f.ctx, f.name)
	f.ok("Checkpoints", err)
	slices.SortFunc(list, func(a, b protocol.Checkpoint) int { return int(a.Tick - b.Tick) })
	var got []string
	for _, c := range list {
		got = append(got, string(c.Data))
	}
	f.equal("checkpoints", got, want)
}
