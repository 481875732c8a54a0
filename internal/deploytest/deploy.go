// Package deploytest moves a fleet of real processes from one lock to another, replica by replica.
// It checks that the two exclude each other all the way.
package deploytest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/solotest/processes"
)

// Obtain tries to obtain the lock of a key for ttl. It returns how to release it, or nil when
// another has it.
type Obtain func(ctx context.Context, key string, ttl time.Duration) (release func(), err error)

// Versions are what the replicas use, in the order in which they are deployed.
type Versions []struct {
	Name string
	Make func(r *processes.Replica) (Obtain, error)
}

const (
	replicas = 2
	period   = 50 * time.Millisecond
)

// Run deploys each version over the one before, replica by replica. Each replica does each tick
// under a lock of its own, which is never released, and again and again a section under one lock
// for all. It fails the test when a tick is done twice, or two are in the section.
func Run(t *testing.T, versions Versions) {
	t.Helper()
	processes.Run(t, 0, func(r *processes.Replica) {
		for _, v := range versions {
			if strings.HasPrefix(r.ID(), v.Name+"-") {
				serve(r, v.Make)
			}
		}
	}, func(f *processes.Fleet) {
		names := func(v, n int) string { return fmt.Sprintf("%s-%d", versions[v].Name, n) }
		for n := range replicas {
			f.Start(names(0, n))
		}
		await(f, names(0, 0))
		for v := range versions[1:] {
			for n := range replicas {
				f.Start(names(v+1, n))
				await(f, names(v+1, n)) // beside the old ones
				f.Stop(names(v, n))
			}
		}
		judge(t, f)
	})
}

// await waits until a replica has done a tick and a section.
func await(f *processes.Fleet, replica string) {
	f.Await(replica+" does nothing", func() bool {
		var tick, section bool
		for _, e := range f.Gate().Effects() {
			if e.Run.Replica == replica {
				section = section || strings.HasPrefix(e.Key, "leave")
				tick = tick || strings.HasPrefix(e.Key, "tick")
			}
		}
		return tick && section
	})
}

func judge(t *testing.T, f *processes.Fleet) {
	t.Helper()
	f.Gate().AssertOnce()
	var inside string
	for _, e := range f.Gate().Effects() {
		what, _, _ := strings.Cut(e.Key, " ")
		switch {
		case what == "enter" && inside != "":
			t.Errorf("%s is in the section, and so is %s", e.Run.Replica, inside)
		case what == "enter":
			inside = e.Run.Replica
		case what == "leave" && inside != e.Run.Replica:
			t.Errorf("%s leaves the section, in which is %q", e.Run.Replica, inside)
		case what == "leave":
			inside = ""
		}
	}
}

func serve(r *processes.Replica, version func(r *processes.Replica) (Obtain, error)) {
	obtain, err := version(r)
	r.Run(func(ctx context.Context) error {
		if err != nil {
			return err
		}
		for n := 0; ctx.Err() == nil; n++ {
			if err := work(r, obtain, n); err != nil {
				return err
			}
			sleep.For(ctx, time.Until(time.Now().Truncate(period).Add(period)))
		}
		return nil
	})
}

// work does the present tick and a section, unless others do. It is finished when the replica is
// stopped.
func work(r *processes.Replica, obtain Obtain, n int) error {
	ctx := context.Background()
	tick := fmt.Sprintf("tick %d", time.Now().Truncate(period).UnixMilli())
	switch release, err := obtain(ctx, tick, time.Minute); {
	case err != nil:
		return err
	case release != nil:
		if err := r.Write(ctx, 0, tick); err != nil {
			return err
		}
	}
	release, err := obtain(ctx, "section", 10*time.Second)
	if err != nil || release == nil {
		return err
	}
	defer release()
	if err := r.Write(ctx, 0, fmt.Sprintf("enter %s %d", r.ID(), n)); err != nil {
		return err
	}
	return r.Write(ctx, 0, fmt.Sprintf("leave %s %d", r.ID(), n))
}
