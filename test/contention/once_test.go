package contention

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/limit"
)

// seedVariable names the environment variable that repeats one history.
const seedVariable = "SOLOTICK_SEED"

// calls is how many calls of the process with the bad network a history has.
const calls = 25

func histories(t *testing.T, play func(t *testing.T, r *rand.Rand)) {
	one := func(t *testing.T, seed uint64) {
		t.Logf("repeat with %s=%d", seedVariable, seed)
		synctest.Test(t, func(t *testing.T) { play(t, rand.New(rand.NewPCG(seed, 1))) })
	}
	if text := os.Getenv(seedVariable); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
		one(t, seed)
		return
	}
	for range 3 { // make soak repeats this
		seed := rand.Uint64N(1_000_000)
		t.Run(fmt.Sprintf("%s=%d", seedVariable, seed), func(t *testing.T) { one(t, seed) })
	}
}

// outcome is what a caller knows of its calls.
type outcome struct{ done, refused, unknown int }

func TestNoHistoryOfTriggersRunsOneTwice(t *testing.T) {
	histories(t, func(t *testing.T, r *rand.Rand) {
		w := &triggered{T: t, Rand: r, memory: new(driver.Memory), runs: map[string]int{}}
		w.store = w.session(w.memory)
		policy := protocol.Policy{Beside: true}
		_, err := w.store.Sync(t.Context(), []protocol.Sync{{Name: "job", Watermark: 1, Revision: "r1", Defines: true, Policy: policy}})
		require.NoError(t, err)
		network := &lossy{Memory: w.memory, Rand: r, faulty: true, others: w.others}
		f, err := fleet.New(w.session(network))
		require.NoError(t, err)
		var known outcome
		for i := range calls {
			payload := fmt.Sprint("mine-", i)
			answer, err := f.Trigger(t.Context(), "job", w.options(payload))
			network.arrive()
			w.run()
			switch {
			case err != nil:
				known.unknown++
				require.LessOrEqual(t, w.runs[payload], 1, "call %d: %v", i, err)
			case answer.Accepted():
				known.done++
				require.Equal(t, 1, w.runs[payload], "call %d: %s", i, answer.Status)
			default:
				known.refused++
				require.Zero(t, w.runs[payload], "call %d", i)
			}
			w.others()
		}
		t.Logf("%+v, %d replies lost, %d triggers of others", known, network.lost, w.count)
	})
}

// triggered is a fleet whose job is triggered.
type triggered struct {
	*testing.T
	*rand.Rand
	memory *driver.Memory
	store  *engine.Session // of those whose network is good
	runs   map[string]int  // of the trigger with a payload
	count  int             // of triggers by others
}

func (w *triggered) session(store driver.Store) *engine.Session {
	s, err := engine.NewSession(store, "default", engine.Options{})
	require.NoError(w, err)
	return s
}

// options are those of a trigger by itself, with a key, or with a request that can be sent again.
func (w *triggered) options(payload string) fleet.TriggerOptions {
	o := fleet.TriggerOptions{By: "test", Payload: jobs.Payload(payload)}
	switch w.IntN(4) {
	case 0:
		o.Key, o.Window = payload, time.Duration(1+w.Int64N(int64(time.Minute)))+time.Millisecond
	case 1:
		o.Request = payload
	}
	return o
}

// others has other processes trigger the job up to some hundred times.
func (w *triggered) others() {
	for range w.IntN(1 << w.IntN(9)) {
		w.count++
		now, _, err := w.store.Time(w.Context())
		require.NoError(w, err)
		_, err = w.store.Trigger(w.Context(), protocol.Trigger{
			Name: "job", By: "other", Request: protocol.NewRequest(), Payload: fmt.Sprint("other-", w.count), Until: now.Add(15 * time.Second),
		})
		require.NoError(w, err)
		if w.IntN(16) == 0 {
			w.run()
		}
		time.Sleep(time.Duration(w.Int64N(int64(60 * time.Millisecond))))
	}
	w.run()
}

// run runs every tick that waits.
func (w *triggered) run() {
	record, err := w.store.Inspect(w.Context(), "job")
	require.NoError(w, err)
	for _, open := range record.Open {
		if time.UnixMilli(open.Tick).After(time.Now()) {
			time.Sleep(time.Until(time.UnixMilli(open.Tick)))
		}
		c := protocol.Claim{
			Name: "job", Tick: open.Tick, Holder: "runner", Request: protocol.NewRequest(), TTL: time.Minute, OnlyOpen: true, Overlap: protocol.OverlapAllow,
		}
		a, err := w.store.Claim(w.Context(), c)
		require.NoError(w, err)
		require.Equal(w, protocol.Granted, a.Status)
		w.runs[a.Payload]++
		require.NoError(w, w.store.Settle(w.Context(), protocol.Grant{
			Name: "job", Tick: open.Tick, Holder: c.Holder, Request: c.Request, Token: a.Token, Attempt: a.Attempt, TTL: c.TTL,
		}, protocol.OutcomeSucceeded))
	}
}

func TestNoHistoryOfTakingsTakesOneTwice(t *testing.T) {
	histories(t, func(t *testing.T, r *rand.Rand) {
		const most, per, units = 100_000, 365 * 24 * time.Hour, 7 // nothing comes back meanwhile
		memory := new(driver.Memory)
		process := func(store driver.Store) *limit.Limiter {
			s, err := engine.NewSession(store, "default", engine.Options{})
			require.NoError(t, err)
			return limit.New(s).Window("calls", most, per)
		}
		processes := make([]*limit.Limiter, 1+r.IntN(100))
		for i := range processes {
			processes[i] = process(memory)
		}
		used := 0
		others := func() {
			for range r.IntN(1 << r.IntN(9)) {
				d, err := processes[r.IntN(len(processes))].Allow(t.Context())
				require.NoError(t, err)
				require.True(t, d.Allowed)
				used++
				time.Sleep(time.Duration(r.Int64N(int64(10 * time.Millisecond))))
			}
		}
		network := &lossy{Memory: memory, Rand: r, faulty: true, others: others}
		mine := process(network)
		var known outcome
		for i := range calls {
			d, err := mine.AllowN(t.Context(), units)
			network.arrive()
			present, failed := processes[0].Allow(t.Context())
			require.NoError(t, failed)
			used++
			taken := most - present.Remaining - used
			if err == nil {
				known.done++
				require.True(t, d.Allowed)
				require.Equal(t, units, taken, "call %d", i)
			} else {
				known.unknown++
				require.Contains(t, []int{0, units}, taken, "call %d: %v", i, err)
			}
			used += taken
			others()
		}
		t.Logf("%+v, %d replies lost, %d units of others", known, network.lost, used)
	})
}
