package stores

import (
	"flag"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	all    = flag.Bool("all", false, "go through every fault")
	update = flag.Bool("update", false, "go through every fault, and write what was found, and the table in docs/stores.md")
)

// TestStoresKeepWhatTheTableSays takes a fleet on each store through faults.
func TestStoresKeepWhatTheTableSays(t *testing.T) {
	var mu sync.Mutex
	now := results{}
	note := func(k kit, s scene, found map[string]finding) {
		mu.Lock()
		defer mu.Unlock()
		now.add(k.name, s.fault, found)
	}
	var stores sync.WaitGroup // all at once, however many tests may be parallel: they mostly wait
	for _, k := range kits {
		stores.Go(func() {
			t.Run(k.name, func(t *testing.T) {
				started := sync.OnceValue(func() *server { return k.start(t) }) // in the test, not in a replica
				for _, s := range scenes {
					switch reason := k.cannot[s.fault]; {
					case reason != "":
						note(k, s, map[string]finding{"": {Cannot: true, Reason: reason}})
					case s.quick || *all || *update:
						t.Run(s.fault, func(t *testing.T) {
							note(k, s, best(func() map[string]finding { return play(t, k, started, s) }))
						})
					}
				}
			})
		})
	}
	stores.Wait()
	if *update && !t.Failed() {
		before := load(t)
		before.merge(now)
		before.save(t)
		return
	}
	for _, fault := range now.compare(load(t)) {
		t.Error(fault)
	}
}

// best is what is found at the best of three times, where it is written down: a machine that does
// other things makes a store no slower than it is. The replicas of each time pass the others.
func best(play func() map[string]finding) (found map[string]finding) {
	for range 3 {
		again := play()
		for promise, f := range again {
			if was, ok := found[promise]; ok && was.Kept && f.Kept {
				f.Later = min(f.Later, was.Later)
				again[promise] = f
			}
		}
		found = again
		late := slices.ContainsFunc(slices.Collect(maps.Values(found)), func(f finding) bool { return f.Later > 0 })
		if len(found) > 0 && !(late && *update) {
			break
		}
	}
	return found
}

func TestTableIsWhatTheSuiteFound(t *testing.T) {
	require.Equal(t, load(t).table(), section(t), "run go test ./test/stores -update")
}
