package fleet_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func TestWhyNamesThePolicyThatDecided(t *testing.T) {
	s := story{t}
	skipped := func(reason string) []protocol.Settled {
		return []protocol.Settled{s.skipped("12:00:00", "12:00:01", "r1", reason)}
	}
	missed := func(reason string) []protocol.Settled {
		return []protocol.Settled{s.passed("11:00:00", "12:00:00", "12:00:12", "r1", "missed", reason, 1)}
	}
	lost := func(reason string) []protocol.Settled {
		return []protocol.Settled{{Tick: s.ms("12:00:00"), Token: 1, Attempt: 1, Outcome: "lost", At: s.at("12:01:00"), Holder: "r1", Note: reason}}
	}
	for name, test := range map[string]struct {
		options         []jobs.Option
		settled         []protocol.Settled
		now             string
		paused          *protocol.Pause
		policy, because string // how the remedy begins
	}{
		"succeeded":   {settled: []protocol.Settled{s.ran("12:00:00", "12:00:01", "12:00:04", "r2", 1, "succeeded", "")}},
		"overlap":     {settled: skipped("overlap"), policy: "overlap: forbid", because: "A run that ends before the next tick"},
		"paused":      {settled: skipped("paused"), policy: "pause", because: "Nobody pauses the job"},
		"newer":       {settled: skipped("newer"), policy: "overlap: queue", because: "A run that ends before two more ticks"},
		"open":        {settled: skipped("open"), policy: "256 open ticks", because: "Runs that end"},
		"misfire":     {settled: missed("misfire"), policy: "misfire: latest", because: "A replica that starts it within its misfire_grace, 10s"},
		"capacity":    {settled: missed("capacity"), policy: "misfire: latest", because: "A replica with room for it"},
		"overload":    {settled: missed("overload"), policy: "misfire: latest", because: "A store that answers its claim"},
		"too old":     {settled: missed("too_old"), policy: "catch_up_window: 1h0m0s", because: "A replica that starts it in time"},
		"too many":    {settled: missed("too_many"), policy: "max_catch_up: 100", because: "A replica that starts it in time"},
		"edited":      {settled: missed("edited"), because: "Nothing: a tick from before an edit"},
		"forgotten":   {settled: missed("forgotten"), because: "A store that does not lose records"},
		"takeovers":   {settled: lost("expired"), policy: "max_takeovers: 3", because: "A replica that keeps its lease"},
		"once":        {options: []jobs.Option{jobs.WithDelivery(jobs.AtMostOnce)}, settled: lost("expired"), policy: "delivery: at_most_once", because: "A replica that keeps its lease"},
		"undecided":   {now: "12:00:30"},
		"held back":   {now: "12:00:30", paused: &protocol.Pause{By: "ann", Since: s.at("11:00:00")}, policy: "pause", because: "Resume the job"},
		"not its day": {now: "13:30:00", settled: []protocol.Settled{}, policy: "schedule: 0 14 * * *", because: "A schedule that has it"},
	} {
		t.Run(name, func(t *testing.T) {
			q := fleet.Question{
				Namespace: "default", Job: job(t, "@hourly", test.options...), Tick: s.at("12:00:00"), Now: s.at("12:30:00"), Since: s.at("00:00:00"),
				Record:   protocol.Record{Name: "report", Watermark: s.ms("11:00:00"), Token: 1, Settled: test.settled, Paused: test.paused},
				Replicas: []fleet.Replica{{ID: "r1", Jobs: map[string]string{"report": "a"}, JobCount: 1}},
			}
			if test.now != "" {
				q.Now = s.at(test.now)
			}
			if name == "not its day" {
				q.Job = job(t, "0 14 * * *")
			}
			e := fleet.Explain(q)
			require.Equal(t, test.policy, e.Policy, e.Text)
			require.Contains(t, e.Remedy, test.because)
			require.Equal(t, test.because == "", e.Remedy == "", e.Remedy)
		})
	}
}

func TestFactsAreSentences(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for want, f := range map[string]fleet.Fact{
		`ann paused it because "the books".`: {Kind: wire.FactPaused, By: "ann", Why: "the books"},
		`web-2 took the tick of 2026-11-20 13:00:00 +0100 over from web-1, whose lease had run out at 2026-11-20 13:00:00 +0100.`: {Kind: wire.FactTakeover, By: "web-2", Replica: "web-1", Tick: at, To: at},
		`web-2 took the leader task over from web-1, which had given it up.`:                                                      {Kind: wire.FactTakeover, By: "web-2", Replica: "web-1", Released: true},
		`The store did not answer web-1 from 2026-11-20 13:00:00 +0100 to 2026-11-20 13:00:00 +0100.`:                             {Kind: wire.FactAway, By: "web-1", From: at, To: at},
		`of a later version: ann`: {Kind: "of_a_later_version", By: "ann"},
	} {
		require.Equal(t, want, f.Words(time.FixedZone("", 3600), nil))
	}
}
