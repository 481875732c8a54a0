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
	runs   = flag.Int("runs", 1, "go through each fault so often, with -update: a promise is kept that is kept each time")
	atOnce = flag.Int("stores", 3, "go through so many stores at once, with -all and -update")
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
	write := func() {
		mu.Lock()
		defer mu.Unlock()
		if *update {
			written := load(t)
			written.merge(now)
			written.save(t)
		}
	}
	var stores sync.WaitGroup // however many tests may be parallel: they mostly wait
	places := make(chan struct{}, len(kits))
	if *all || *update {
		places = make(chan struct{}, *atOnce)
	}
	for _, k := range kits {
		stores.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			t.Run(k.name, func(t *testing.T) {
				started := sync.OnceValue(func() *server { return k.start(t) }) // in the test, not in a replica
				lasting := started
				if k.lasting != nil {
					lasting = sync.OnceValue(func() *server { return k.lasting(t) })
				}
				for _, s := range scenes {
					switch reason := k.cannot[s.fault]; {
					case reason != "":
						note(k, s, map[string]finding{"": {Cannot: true, Reason: reason}})
					case s.quick && (k.short || !s.outage) || *all || *update:
						t.Run(s.fault, func(t *testing.T) {
							found := several(s, func() map[string]finding {
								servers := started
								switch {
								case s.outage:
									servers = lasting
								case s.fault == failedOver: // new ones each time: not all take their places again
									servers = sync.OnceValue(func() *server { return k.failingOver()(t) })
								}
								return play(t, k, servers, s)
							})
							if !t.Failed() {
								note(k, s, found)
								write() // what was found is kept if the test is stopped
							}
						})
					}
				}
			})
		})
	}
	stores.Wait()
	write()
	for _, fault := range now.compare(load(t)) {
		t.Error(fault)
	}
}

// several returns the findings of -runs times, and of up to three where one may not be the rule and
// they are written down. Of times it takes the best: a machine that does other things makes a store no
// slower than it is. A promise is kept if it is each time. The replicas of each time pass the others.
func several(s scene, play func() map[string]finding) map[string]finding {
	found := map[string]finding{}
	for n := range max(*runs, 3) {
		now, late := play(), false
		for promise, f := range now {
			if was, ok := found[promise]; ok {
				if was.Kept && f.Kept {
					f.Later = min(f.Later, was.Later)
				} else if f.Kept {
					f = was
				}
			}
			f.Runs = n + 1
			found[promise] = f
			late = late || f.Later > 0
		}
		if len(now) > 0 && n+1 >= *runs && !(*update && (late || s.chance)) {
			break
		}
	}
	return found
}

func TestTableIsWhatTheSuiteFound(t *testing.T) {
	require.Equal(t, load(t).table(), section(t), "run go test ./test/stores -update")
}
