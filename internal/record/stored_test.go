package record_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/record"
)

// twins are two copies of one record: one is decoded before each rule, the other is reused.
type twins struct {
	data   []byte
	stamp  int64
	ends   map[int64]time.Time
	reused *record.Record
	grants []protocol.Grant // those of all answers
}

func (w *twins) end(token int64) time.Time { return w.ends[token] }

// apply applies a rule to both, and stores the outcome with a stamp that the rule has not guessed.
func (w *twins) apply(t *rapid.T, now time.Time, rule func(r *record.Record, at *record.Moment) any) {
	fresh := w.decode(t)
	w.reused.SetEnds(w.end)
	require.Equal(t, fresh, w.reused)

	first, second := record.At(now), record.At(now)
	require.Equal(t, rule(fresh, first), rule(w.reused, second))
	require.Equal(t, first, second)
	require.Equal(t, fresh.News(), w.reused.News())
	guessed, _ := first.Granted()
	data := fresh.Encode(guessed)
	require.Equal(t, data, w.reused.Encode(guessed))

	w.data, w.stamp = data, max(w.stamp, guessed, now.UnixMicro())+rapid.Int64Range(1, 3).Draw(t, "ahead")
	for _, l := range fresh.AppendLeases(nil) {
		if l.Token == guessed {
			l.Token = w.stamp
		}
		w.ends[l.Token] = l.Ends
	}
	for i := range w.grants {
		if w.grants[i].Token == guessed && guessed != 0 {
			w.grants[i].Token = w.stamp
		}
	}
	if !w.reused.Stored("job", guessed, w.stamp) {
		w.reused = w.decode(t)
	}
}

func (w *twins) decode(t *rapid.T) *record.Record {
	r := new(record.Record)
	require.NoError(t, r.Decode("job", w.data, w.stamp, w.end))
	return r
}

func TestReusedRecordEqualsDecodedOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &twins{ends: make(map[int64]time.Time), reused: new(record.Record)}
		now := origin.Add(123 * time.Nanosecond)
		for i := range rapid.IntRange(1, 300).Draw(t, "rules") {
			now = now.Add(time.Duration(rapid.IntRange(0, 2_500_000_001).Draw(t, "later")))
			w.apply(t, now, w.draw(t, i, now))
		}
	})
}

// draw draws a rule with its request.
func (w *twins) draw(t *rapid.T, i int, now time.Time) func(r *record.Record, at *record.Moment) any {
	n := origin.Unix()*1000 + rapid.Int64Range(-1, 40).Draw(t, "tick")
	holder := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "holder")
	request := fmt.Sprint("r", rapid.IntRange(0, 5).Draw(t, "request"))
	grant := protocol.Grant{Name: "job", Tick: n, Holder: holder, Request: request, Token: now.UnixMicro(), Attempt: 1, TTL: time.Second}
	if len(w.grants) > 0 && rapid.IntRange(0, 9).Draw(t, "known") > 0 {
		grant = rapid.SampledFrom(w.grants).Draw(t, "grant")
	}
	grant.Note = rapid.SampledFrom([]string{"", "said by its holder"}).Draw(t, "note")
	switch rapid.SampledFrom(verbs).Draw(t, "verb") {
	case "sync":
		y := protocol.Sync{Name: "job", Watermark: n, Known: n - 10, Revision: request, Schedule: "every " + request}
		if rapid.Bool().Draw(t, "paused") {
			y.Paused = &protocol.Pause{By: holder, Reason: "new", Since: now}
		}
		y.Defines = rapid.Bool().Draw(t, "defines")
		y.Policy = rapid.SampledFrom([]protocol.Policy{{}, {Every: time.Second, Burst: 5}, {Beside: true, History: 20}, {NoTriggers: true}, {Jitter: 3 * time.Second}}).Draw(t, "policy")
		return func(r *record.Record, at *record.Moment) any {
			v, err := r.Sync(y, at)
			return []any{v, err}
		}
	case "claim":
		c := protocol.Claim{
			Name: "job", Tick: n, Holder: holder, Request: request, TTL: 1500 * time.Millisecond, Known: n - 5,
			Overlap: protocol.Overlap(rapid.IntRange(0, 4).Draw(t, "overlap")), Takeovers: rapid.IntRange(0, 1).Draw(t, "takeovers"),
		}
		if rapid.IntRange(0, 9).Draw(t, "lock") == 0 {
			c.Tick = 0
		}
		return func(r *record.Record, at *record.Moment) any {
			a, wake := r.Claim(c, at)
			if a.Status == protocol.Granted && (len(w.grants) == 0 || w.grants[len(w.grants)-1].Token != a.Token) {
				w.grants = append(w.grants, protocol.Grant{
					Name: "job", Tick: c.Tick, Holder: holder, Request: request, Token: a.Token,
					Attempt: a.Attempt, Takeovers: a.Takeovers, TTL: c.TTL,
				})
			}
			return []any{a, wake}
		}
	case "settle":
		return func(r *record.Record, at *record.Moment) any {
			wake, err := r.End(grant, protocol.OutcomeSucceeded, at)
			return []any{wake, err}
		}
	case "release":
		return func(r *record.Record, at *record.Moment) any {
			wake, err := r.End(grant, "", at)
			return []any{wake, err}
		}
	case "renew":
		grant.Attempt, grant.TTL = grant.Attempt+rapid.IntRange(0, 1).Draw(t, "attempt"), 2*time.Second
		return func(r *record.Record, at *record.Moment) any { return r.Renew(grant, at) }
	case "pass":
		p := protocol.Skip{Name: "job", From: n - 1, To: n, Outcome: protocol.OutcomeSkipped, Request: request, Holder: holder, Note: "x"}
		return func(r *record.Record, at *record.Moment) any {
			p.From = r.Watermark
			p.To = max(p.To, p.From+1)
			watermark, passed, err := r.Skip(p, at)
			return []any{watermark, passed, err}
		}
	case "pause":
		return func(r *record.Record, at *record.Moment) any {
			p, err := r.Pause(protocol.Pause{By: holder, Reason: "why", Until: now.Add(time.Minute)}, at)
			return []any{p, err}
		}
	case "resume":
		return func(r *record.Record, at *record.Moment) any {
			p, err := r.Resume(protocol.Resume{By: holder}, at)
			return []any{p, err}
		}
	case "cancel":
		return func(r *record.Record, at *record.Moment) any {
			a, wake, err := r.Cancel(protocol.Cancel{Name: "job", Tick: grant.Tick, By: holder}, at)
			return []any{a, wake, err}
		}
	case "trigger":
		tr := protocol.Trigger{
			Name: "job", By: holder, Request: fmt.Sprint("t", i), Key: rapid.SampledFrom([]string{"", "k1", "k2"}).Draw(t, "key"),
			Window: 3 * time.Second, Payload: rapid.SampledFrom([]string{"", "", "p1", "p2", "job"}).Draw(t, "payload"),
		}
		return func(r *record.Record, at *record.Moment) any {
			a, wake, err := r.Trigger(tr, at)
			return []any{a, wake, err}
		}
	case "recall":
		return func(r *record.Record, at *record.Moment) any {
			r.Recall([]protocol.Settled{{Tick: n - 50, Token: 7, Attempt: 1, Outcome: protocol.OutcomeSucceeded, At: now, Note: "long ago"}})
			return nil
		}
	default:
		return func(r *record.Record, at *record.Moment) any {
			a, err := r.Repair(protocol.Repair{Name: "job"}, at)
			return []any{a, err}
		}
	}
}

var verbs = []string{
	"sync", "claim", "claim", "claim", "claim", "settle", "settle", "settle", "release", "renew", "pass", "pause", "resume", "cancel",
	"trigger", "recall", "repair",
}

func TestRecordThatCannotBeDecodedIsNotReused(t *testing.T) {
	r := new(record.Record)
	g := protocol.Grant{Name: "job", Holder: "a", Request: "r", Token: 5, Attempt: 1 << 31, TTL: time.Second}
	require.NoError(t, r.Renew(g, record.At(origin)))
	data := r.Encode(0)
	require.False(t, r.Stored("job", 0, 1))
	require.Error(t, new(record.Record).Decode("job", data, 1, func(int64) time.Time { return time.Time{} }))
}
