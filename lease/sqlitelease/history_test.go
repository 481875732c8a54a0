package sqlitelease_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
)

var seed = flag.Uint64("seed", 0, "of the random faults and changes of the histories; 0 draws one")

const keys = 3

// event is what a process asks for, with a time and no status, or what it is answered.
type event struct {
	Key, N  int
	At      int64          // Unix ns
	From    driver.Version // of a change
	ID      string         // of a change; "" of a read
	Status  driver.Status
	Version driver.Version
	Failed  bool
}

func (e event) print() {
	text, _ := json.Marshal(e)
	fmt.Println(string(text))
}

// Processes that change values of one file by compare-and-set, and are killed and frozen meanwhile, get answers that a single
// register for each key could have given them, in some order.
func TestHistoriesOfProcessesAreLinearizable(t *testing.T) {
	t.Parallel()
	seed := *seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	path := filepath.Join(t.TempDir(), "solotick.db")
	var mu sync.Mutex
	var history []porcupine.Operation
	conflicts := 0
	follow := func(client int, p *process, done chan<- struct{}) {
		defer close(done)
		var asks *event
		add := func(answer event, returned int64) {
			mu.Lock()
			defer mu.Unlock()
			if answer.Status == driver.Conflict {
				conflicts++
			}
			history = append(history, porcupine.Operation{ClientId: client, Input: *asks, Call: asks.At, Output: answer, Return: returned})
		}
		for p.out.Scan() {
			var e event
			if json.Unmarshal(p.out.Bytes(), &e) != nil {
				break // it was killed in the middle of a line
			}
			switch {
			case e.Status == 0 && !e.Failed:
				asks = &e
			case e.Failed:
				add(e, math.MaxInt64)
				asks = nil
			default:
				add(e, e.At)
				asks = nil
			}
		}
		if asks != nil {
			add(event{Failed: true}, math.MaxInt64)
		}
	}
	client := 0
	begin := func() (p *process, done chan struct{}) {
		client++
		p, done = start(t, "contend", path, fmt.Sprint("p", client), fmt.Sprint(r.Uint64())), make(chan struct{})
		go follow(client, p, done)
		return p, done
	}
	const atOnce, faults = 4, 24
	var running [atOnce]*process
	var ended [atOnce]chan struct{}
	for i := range running {
		running[i], ended[i] = begin()
	}
	for range faults {
		i := r.IntN(atOnce)
		time.Sleep(time.Duration(20+r.IntN(60)) * time.Millisecond) // the faults are to come at random
		if r.IntN(2) == 0 {
			require.NoError(t, running[i].Process.Signal(syscall.SIGSTOP))
			time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
			require.NoError(t, running[i].Process.Signal(syscall.SIGCONT))
			continue
		}
		require.NoError(t, running[i].Process.Kill())
		<-ended[i]
		running[i], ended[i] = begin()
	}
	for i := range running {
		require.NoError(t, running[i].Process.Kill())
		<-ended[i]
	}
	t.Logf("%d operations, %d conflicts", len(history), conflicts)
	require.Greater(t, len(history), 100, "a history that short proves little")
	require.Positive(t, conflicts, "a history without conflicts proves little")
	result, info := porcupine.CheckOperationsVerbose(registers.ToModel(), history, time.Minute)
	if result != porcupine.Ok {
		out := filepath.Join(t.ArtifactDir(), "history.html")
		require.NoError(t, porcupine.VisualizePath(registers.ToModel(), info, out))
	}
	require.Equal(t, porcupine.Ok, result, "%d operations", len(history))
}

// unknown is the stamp of a version that nobody has seen.
const unknown = -1

// registers says what may be answered about the version of a key.
var registers = porcupine.NondeterministicModel{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		parts := make([][]porcupine.Operation, keys)
		for _, op := range history {
			k := op.Input.(event).Key
			parts[k] = append(parts[k], op)
		}
		return parts
	},
	Init: func() []any { return []any{driver.Version{}} },
	Step: func(state, in, out any) []any {
		present, ask, answer := state.(driver.Version), in.(event), out.(event)
		switch {
		case ask.ID == "" && answer.Failed:
			return []any{present}
		case ask.ID == "" || answer.Status == driver.Conflict:
			seen := present == answer.Version || present.Stamp == unknown && present.ID == answer.Version.ID
			if seen && (ask.ID == "" || answer.Version != ask.From) {
				return []any{answer.Version}
			}
		case answer.Failed:
			if present == ask.From {
				return []any{present, driver.Version{Stamp: unknown, ID: ask.ID}}
			}
			return []any{present}
		case answer.Status == driver.Done:
			if present == ask.From && answer.Version.ID == ask.ID && answer.Version.Stamp > present.Stamp {
				return []any{answer.Version}
			}
		}
		return nil
	},
	Equal: func(a, b any) bool { return a == b },
}
