package historytest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

// Schedules has clients put, delete, claim and settle one stored schedule of each of some keys, and
// checks that their answers are those of a schedule that does one after the other. The stores are views
// of one; what happens to them meanwhile may lose requests and answers. quiet loses nothing.
func Schedules(t *testing.T, quiet protocol.Store, stores ...protocol.Store) {
	t.Helper()
	const rounds, atOnce = 10, 3
	seed, seen := Seed(t), map[string]int{}
	for round := range rounds {
		var running sync.WaitGroup
		var all [atOnce]*scheduleHistory
		for i := range all {
			all[i] = &scheduleHistory{name: fmt.Sprintf("job/k%d-%d", round, i)}
			for id := range 4 {
				c := &scheduleClient{scheduleHistory: all[i], id: id, store: stores[id%len(stores)]}
				c.rand = rand.New(rand.NewPCG(seed, uint64(100*round+10*i+id)))
				running.Go(func() { c.contend(t.Context()) })
			}
		}
		running.Wait()
		for _, h := range all {
			h.check(t, quiet, seen)
		}
	}
	t.Logf("answers: %v", seen)
	for _, verdict := range []string{"created", "changed", "unchanged", "conflict", "deleted", "absent", "granted", "held", "decided", "gone", "done", "there", unsure} {
		require.Positive(t, seen[verdict], "no client was answered %q: the histories prove little", verdict)
	}
}

const (
	unsure = "unsure" // nobody knows whether it was done, or will be
	// mostUnsure bounds the operations of a history with that answer: the time to check it is exponential in
	// them.
	mostUnsure     = 6
	mostOperations = 160
)

// scheduleHistory has the requests of clients about one schedule, and their answers.
type scheduleHistory struct {
	name string
	tick atomic.Int64 // that clients contend for: a time that was now when one of them claimed it first

	mu         sync.Mutex
	revision   string // that somebody has seen
	unsure     int
	operations []porcupine.Operation
}

// asked is a request about a schedule.
type asked struct {
	action, revision, expects string
	absent                    bool
	tick                      int64  // ms; of a put, when it was put
	request                   string // of the grant
}

// answered is what an operation returned; a get returns what is there.
type answered struct {
	verdict, revision string
	token             int64
	at                int64 // ms: of a put, when it was done at the latest; of a get, the watermark
	open              int
}

type scheduleClient struct {
	*scheduleHistory
	id    int
	store protocol.Store
	rand  *rand.Rand
	held  []protocol.Grant
}

// chance is true n times in a hundred.
func (c *scheduleClient) chance(n int) bool { return c.rand.IntN(100) < n }

func (c *scheduleClient) contend(ctx context.Context) {
	for n := 0; ; n++ {
		c.mu.Lock()
		over, present := len(c.operations) >= mostOperations || c.unsure >= mostUnsure, c.revision
		c.mu.Unlock()
		if over {
			return
		}
		expects := ""
		if c.chance(30) {
			expects = present
		}
		switch kind := c.rand.IntN(20); {
		case kind < 5:
			c.again(ctx, asked{action: "put", revision: fmt.Sprint("r", c.rand.IntN(3)), expects: expects, absent: expects == "" && c.chance(20)})
		case kind < 8:
			c.again(ctx, asked{action: "delete", expects: expects})
		case kind < 14:
			if c.chance(50) || c.tick.Load() == 0 {
				c.tick.Store(time.Now().UnixMilli())
			}
			c.again(ctx, asked{action: "claim", revision: present, tick: c.tick.Load(), request: fmt.Sprintf("c%d-%d", c.id, n)})
		case kind < 18 && len(c.held) > 0:
			i := c.rand.IntN(len(c.held))
			g := c.held[i]
			c.held = append(c.held[:i:i], c.held[i+1:]...)
			c.again(ctx, asked{action: "settle", tick: g.Tick, request: g.Request}, g)
		default:
			c.again(ctx, asked{action: "get"})
		}
	}
}

// again makes a request, and now and then repeats one whose answer was lost, or might have been.
func (c *scheduleClient) again(ctx context.Context, in asked, g ...protocol.Grant) {
	for range 3 {
		if c.ask(ctx, in, g...) != unsure && !c.chance(5) || in.action == "get" {
			return
		}
	}
}

func (c *scheduleClient) ask(ctx context.Context, in asked, g ...protocol.Grant) string {
	called := time.Now().UnixNano()
	if in.action == "put" {
		in.tick = time.Now().UnixMilli()
	}
	out, err := c.call(ctx, in, g...)
	returned := time.Now().UnixNano()
	if in.action == "put" {
		out.at = returned / 1e6
	}
	if err != nil || c.chance(1) {
		out, returned = answered{verdict: unsure, at: math.MaxInt64}, math.MaxInt64
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if out.verdict == unsure && in.action == "get" {
		return unsure
	}
	if out.verdict == unsure {
		c.unsure++
	} else if in.action == "put" || in.action == "get" {
		c.revision = out.revision
	}
	c.operations = append(c.operations, porcupine.Operation{ClientId: c.id, Input: in, Call: called, Output: out, Return: returned})
	return out.verdict
}

func (c *scheduleClient) call(ctx context.Context, in asked, grants ...protocol.Grant) (out answered, err error) {
	switch in.action {
	case "put":
		var answers []protocol.PutAnswer
		p := protocol.Put{Name: c.name, Revision: in.revision, Schedule: "UTC @hourly", After: in.tick, If: in.expects, Absent: in.absent}
		p.Due, p.Policy.History = in.tick+later, 4
		if answers, err = c.store.PutSchedules(ctx, []protocol.Put{p}); err == nil {
			err = answers[0].Err
			out = answered{verdict: []string{"", "created", "changed", "unchanged"}[answers[0].Status], revision: in.revision}
		}
	case "delete":
		var found bool
		if found, err = c.store.WithdrawSchedule(ctx, protocol.Withdraw{Name: c.name, If: in.expects}); found {
			out.verdict = "deleted"
		} else {
			out.verdict = "absent"
		}
	case "claim":
		return c.claim(ctx, in)
	case "settle":
		if err = c.store.Settle(ctx, grants[0], "succeeded"); errors.Is(err, protocol.ErrFenced) {
			return answered{verdict: "fenced"}, nil
		}
		out.verdict = "done"
	default:
		return c.get(ctx, c.store)
	}
	if errors.Is(err, protocol.ErrRevision) {
		return answered{verdict: "conflict"}, nil
	}
	return out, err
}

// later is when another tick is due, in ms.
const later = 3_600_000

func (c *scheduleClient) claim(ctx context.Context, in asked) (answered, error) {
	claim := protocol.Claim{
		Name: c.name, Tick: in.tick, Holder: fmt.Sprint("h", c.id), Request: in.request, TTL: time.Hour, Revision: in.revision, NextDue: in.tick + later,
	}
	if claim.Revision == "" {
		claim.Revision = "none"
	}
	a, err := c.store.Claim(ctx, claim)
	verdicts := map[protocol.Status]string{protocol.Granted: "granted", protocol.Held: "held", protocol.Decided: "decided", protocol.Unknown: "gone"}
	if a.Status == protocol.Granted {
		c.held = append(c.held, protocol.Grant{
			Name: c.name, Tick: in.tick, Holder: claim.Holder, Request: claim.Request, Token: a.Token, Attempt: a.Attempt, TTL: claim.TTL,
		})
	}
	return answered{verdict: verdicts[a.Status], token: a.Token}, err
}

func (h *scheduleHistory) get(ctx context.Context, store protocol.Store) (answered, error) {
	list, err := store.GetSchedules(ctx, []string{h.name})
	if err == nil {
		err = list[0].Err
	}
	if err != nil {
		return answered{}, err
	}
	k := list[0]
	out := answered{verdict: "none", open: len(k.Open)}
	if k.IsScheduled() {
		out.verdict, out.revision, out.at = "there", k.Revision, k.Watermark
	}
	return out, nil
}

// check reads the schedule at the end of the history, and compares the index with it.
func (h *scheduleHistory) check(t *testing.T, quiet protocol.Store, seen map[string]int) {
	t.Helper()
	called := time.Now().UnixNano()
	out := untilAnswered(t, func() (answered, error) { return h.get(t.Context(), quiet) })
	h.operations = append(h.operations, porcupine.Operation{ClientId: 4, Input: asked{action: "get"}, Call: called, Output: out, Return: time.Now().UnixNano()})
	for _, op := range h.operations {
		seen[op.Output.(answered).verdict]++
	}
	result := porcupine.CheckOperationsTimeout(schedule.ToModel(), h.operations, 10*time.Second)
	if result == porcupine.Illegal {
		for _, op := range h.operations {
			t.Logf("%d to %d, client %d: %+v -> %+v", op.Call, op.Return, op.ClientId, op.Input, op.Output)
		}
	}
	require.NotEqual(t, porcupine.Illegal, result, h.name)

	shares := make([]int, protocol.Shares)
	for i := range shares {
		shares[i] = i
	}
	due := untilAnswered(t, func() ([]protocol.DueName, error) {
		return quiet.DueSchedules(t.Context(), "job", shares, time.Now().Add(24*time.Hour), 1000)
	})
	listed := untilAnswered(t, func() ([]protocol.Keyed, error) {
		list, _, err := quiet.ListSchedules(t.Context(), "job", strings.TrimPrefix(h.name, "job/"), "", 9)
		return list, err
	})
	indexed := false
	for _, d := range due {
		indexed = indexed || d.Name == h.name
	}
	require.Equal(t, out.verdict == "there" || out.open > 0, indexed, "%s: %+v", h.name, out)
	require.Len(t, listed, map[string]int{"there": 1}[out.verdict])
}

// untilAnswered asks until a store answers, which on a busy machine may take it a while.
func untilAnswered[T any](t *testing.T, ask func() (T, error)) (answer T) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		var err error
		answer, err = ask()
		require.NoError(c, err)
	}, time.Minute, 10*time.Millisecond)
	return answer
}

// oneSchedule is the state of the model.
type oneSchedule struct {
	scheduled     bool
	revision      string // of the present schedule, or of the one that was deleted while a tick is open
	low, high     int64  // the watermark is one of these: nobody knows when exactly a schedule was created
	open, settled string // grants
	token         int64
}

func grantOf(in asked) string { return fmt.Sprintf("[%d %s]", in.tick, in.request) }

// schedule says what may be answered about a schedule, in an order.
var schedule = porcupine.NondeterministicModel{
	Init: func() []any { return []any{oneSchedule{}} },
	Step: func(state, in, out any) []any {
		s, a := state.(oneSchedule), out.(answered)
		next, should := s.step(in.(asked), a)
		switch {
		case a.verdict == unsure && next == s:
			return []any{s}
		case a.verdict == unsure:
			return []any{s, next}
		case a.verdict == should && (a.verdict != "granted" || strings.Contains(s.open, grantOf(in.(asked))) || a.token > s.token):
			next.token = max(next.token, a.token)
			return []any{next}
		}
		return nil
	},
	Equal: func(a, b any) bool { return a == b },
}

// step returns the state after a request, and the answer to it.
func (s oneSchedule) step(in asked, out answered) (oneSchedule, string) {
	before := s
	switch in.action {
	case "put":
		switch {
		case s.scheduled && in.revision == s.revision:
			return s, "unchanged"
		case s.scheduled && in.absent, in.expects != "" && (!s.scheduled || in.expects != s.revision):
			return s, "conflict"
		}
		s.scheduled, s.revision, s.low, s.high = true, in.revision, max(s.low, in.tick), max(s.high, in.tick)
		if before.scheduled {
			return s, "changed"
		}
		s.high = max(s.high, out.at)
		return s, "created"
	case "delete":
		switch {
		case !s.scheduled:
			return s, "absent"
		case in.expects != "" && in.expects != s.revision:
			return s, "conflict"
		}
		s.scheduled = false
		return s.gone(), "deleted"
	case "claim":
		switch {
		case out.verdict == "gone": // also if the store seems to have gone back, since another call has read something newer
			return s, "gone"
		case strings.Contains(s.open, grantOf(in)):
			return s, "granted"
		case strings.Contains(s.open, fmt.Sprintf("[%d ", in.tick)):
			return s, "held"
		case !s.scheduled || in.revision != s.revision:
			return s, "gone"
		case in.tick <= s.low, in.tick <= s.high && out.verdict == "decided":
			s.low = max(s.low, in.tick)
			return s, "decided"
		}
		s.low, s.high, s.open = in.tick, in.tick, s.open+grantOf(in)
		return s, "granted"
	case "settle":
		return s.settle(in, out)
	}
	switch {
	case out.open != strings.Count(s.open, "["), out.revision != s.revision && s.scheduled:
	case !s.scheduled:
		return s, "none"
	case s.low <= out.at && out.at <= s.high:
		s.low, s.high = out.at, out.at
		return s, "there"
	}
	return s, "another"
}

// settle ends a grant. If its record was removed, and another made, the tick is written back, unless
// the new one knows better.
func (s oneSchedule) settle(in asked, out answered) (oneSchedule, string) {
	switch g := grantOf(in); {
	case strings.Contains(s.open, g):
		s.open = strings.Replace(s.open, g, "", 1)
		s.settled += g
		return s.gone(), "done"
	case strings.Contains(s.settled, g):
		return s, "done"
	case s.revision == "" || in.tick <= s.low, in.tick <= s.high && out.verdict == "fenced":
		s.low = max(s.low, in.tick)
		return s.gone(), "fenced"
	default:
		s.low, s.high = in.tick, in.tick
		s.settled += g
		return s.gone(), "done"
	}
}

// gone forgets everything but the token if nothing is left of the record.
func (s oneSchedule) gone() oneSchedule {
	if !s.scheduled && s.open == "" {
		return oneSchedule{token: s.token}
	}
	return s
}
