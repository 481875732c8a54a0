// Package historytest checks that processes which change values of one store by compare-and-set, and
// are killed and frozen meanwhile, get answers that a single register for each key could have given
// them, in some order.
package historytest

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

var seed = flag.Uint64("seed", 0, "of the random faults and changes of the histories; 0 draws one")

// Seed returns what the random faults and changes of a history begin with.
func Seed(t *testing.T) uint64 {
	t.Helper()
	seed := *seed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d: run it again with -seed=%d", seed, seed)
	return seed
}

const (
	atOnce = 4 // processes
	faults = 24
	enough = 100 // operations: a shorter history proves little
)

// Run starts processes, disturbs them, and checks what they were asked and answered. start starts
// one that runs [Contend] with these arguments, and whose output it leaves alone. Each fault is one
// of the others, or that a process is killed or frozen.
func Run(t *testing.T, start func(name string, seed uint64) *exec.Cmd, others ...func()) {
	t.Helper()
	h := &history{t: t, start: start, more: make(chan struct{}, 1)}
	r := rand.New(rand.NewPCG(Seed(t), 1))
	var running [atOnce]*process
	for i := range running {
		running[i] = h.begin(r.Uint64())
	}
	for n := range faults {
		i := r.IntN(atOnce)
		h.await(enough * (n + 1) / faults)
		time.Sleep(time.Duration(20+r.IntN(60)) * time.Millisecond) // the faults are to come at random
		switch kind := r.IntN(2 + len(others)); kind {
		case 0:
			require.NoError(t, running[i].cmd.Process.Signal(syscall.SIGSTOP))
			time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
			require.NoError(t, running[i].cmd.Process.Signal(syscall.SIGCONT))
		case 1:
			running[i].kill()
			running[i] = h.begin(r.Uint64())
		default:
			others[kind-2]()
		}
	}
	h.await(enough + 1)
	for i := range running {
		running[i].kill()
	}
	h.check()
}

// history has the requests of processes, and their answers.
type history struct {
	t     *testing.T
	start func(name string, seed uint64) *exec.Cmd

	mu         sync.Mutex
	clients    int
	operations []porcupine.Operation
	conflicts  int
	more       chan struct{} // has an element when one of them has grown
}

// process is one that contends.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // all of its output is noted
}

func (h *history) begin(seed uint64) *process {
	h.t.Helper()
	h.clients++
	client := h.clients
	cmd := h.start(fmt.Sprint("p", client), seed)
	out, err := cmd.StdoutPipe()
	require.NoError(h.t, err)
	require.NoError(h.t, cmd.Start())
	p := &process{cmd, make(chan struct{})}
	go func() {
		defer close(p.ended)
		h.follow(client, out)
	}()
	h.t.Cleanup(p.kill)
	return p
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	_ = p.cmd.Wait()
}

// follow notes what a process says. What it asked last, and was not answered, may be carried out
// at any time.
func (h *history) follow(client int, out io.Reader) {
	var asks *event
	add := func(answer event, returned int64) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if answer.conflicts() {
			h.conflicts++
		}
		h.operations = append(h.operations, porcupine.Operation{ClientId: client, Input: *asks, Call: asks.At, Output: answer, Return: returned})
		asks = nil
		select {
		case h.more <- struct{}{}:
		default: // there is an element
		}
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			break // it was killed in the middle of a line
		}
		switch {
		case e.asks():
			asks = &e
		case e.Failed:
			add(e, math.MaxInt64)
		default:
			add(e, e.At)
		}
	}
	if asks != nil {
		add(event{Failed: true}, math.MaxInt64)
	}
}

// await waits until so many operations are known, one more than enough with a conflict among them,
// on a machine that is slow.
func (h *history) await(operations int) {
	h.t.Helper()
	bound := time.After(time.Minute)
	for {
		h.mu.Lock()
		done := len(h.operations) >= operations && (operations <= enough || h.conflicts > 0)
		h.mu.Unlock()
		if done {
			return
		}
		select {
		case <-h.more:
		case <-bound:
			h.t.Fatalf("the processes do not get to %d operations", operations)
		}
	}
}

func (h *history) check() {
	h.t.Helper()
	h.t.Logf("%d operations, %d conflicts", len(h.operations), h.conflicts)
	require.Greater(h.t, len(h.operations), enough, "a history that short proves little")
	require.Positive(h.t, h.conflicts, "a history without conflicts proves little")
	result, info := porcupine.CheckOperationsVerbose(registers.ToModel(), h.operations, 20*time.Second)
	if result == porcupine.Unknown {
		h.t.Log("undecided: the search takes too long where many answers were lost, or on a busy machine")
	}
	if result == porcupine.Illegal {
		out := filepath.Join(h.t.ArtifactDir(), "history.html")
		require.NoError(h.t, porcupine.VisualizePath(registers.ToModel(), info, out))
	}
	require.NotEqual(h.t, porcupine.Illegal, result, "%d operations", len(h.operations))
}
