package stores

import (
	"flag"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/dbtest"
)

var (
	all    = flag.Bool("all", false, "go through every fault")
	update = flag.Bool("update", false, "go through every fault, and write what was found, and the table in docs/stores.md")
)

func TestMain(m *testing.M) {
	code := m.Run()
	dbtest.StopAll()
	os.Exit(code)
}

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
							servers := started
							if s.fault == failedOver && k.replicated != nil {
								servers = sync.OnceValue(func() *server { return k.replicated(t) })
							}
							note(k, s, several(s, func() map[string]finding { return play(t, k, servers, s) }))
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

// several returns the findings of up to three times, where they are written down. Of times it takes
// the best: a machine that does other things makes a store no slower than it is. A promise is kept
// if it is each time. The replicas of each time pass the others.
func several(s scene, play func() map[string]finding) map[string]finding {
	found := map[string]finding{}
	for range 3 {
		now, late := play(), false
		for promise, f := range now {
			if was, ok := found[promise]; ok {
				if was.Kept && f.Kept {
					f.Later = min(f.Later, was.Later)
				} else if f.Kept {
					f = was
				}
			}
			found[promise] = f
			late = late || f.Later > 0
		}
		if len(now) > 0 && !(*update && (late || s.chance)) {
			break
		}
	}
	return found
}

func TestTableIsWhatTheSuiteFound(t *testing.T) {
	require.Equal(t, load(t).table(), section(t), "run go test ./test/stores -update")
}
