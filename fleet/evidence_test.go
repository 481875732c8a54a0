package fleet_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

// away is the fact that Redis did not answer a replica.
func (s story) away(by, from, to string, living int) fleet.Fact {
	return fleet.Fact{Kind: wire.FactAway, At: s.at(to), By: by, From: s.at(from), To: s.at(to), Living: living}
}

// held is the fact that one of two replicas claimed nothing.
func (s story) held(by, from, to string, step time.Duration) fleet.Fact {
	return fleet.Fact{Kind: wire.FactHeld, At: s.at(to), By: by, From: s.at(from), To: s.at(to), Living: 2, Step: step}
}

// absent is the fact that no replica was alive, recorded by the next that came.
func (s story) absent(last, from, by, to string, groups ...string) fleet.Fact {
	return fleet.Fact{Kind: wire.FactAbsent, At: s.at(to), By: by, Replica: last, From: s.at(from), To: s.at(to), Groups: groups}
}

// TestWhyNamesOnlyRecordedCauses: an unknown cause is called unknown.
func TestWhyNamesOnlyRecordedCauses(t *testing.T) {
	s := story{t}
	found := s.passed("11:00:00", "12:00:00", "12:00:31", "r1", "missed", "misfire", 1)
	edited := s.passed("11:00:00", "12:00:00", "12:00:31", "r1", "missed", "edited", 1)
	eu := job(t, "@hourly", jobs.WithGroups("eu"))
	const unknown = "It was missed: nobody started it in time, and why is not known."
	const tail = " r1 found it at 12:00:31, 31s after its time"

	for name, test := range map[string]struct {
		job     *jobs.Job // nil for one that every replica serves
		settled protocol.Settled
		record  protocol.Record
		facts   []fleet.Fact
		fleet   []fleet.Fact
		text    string
		not     string
	}{
		"no replica lived": {
			settled: found, fleet: []fleet.Fact{s.absent("r2", "11:59:55", "r1", "12:00:30")},
			text: "It was missed because no replica lived: the fleet's last heartbeat came at 11:59:55 (r2), and the next replica at 12:00:30 (r1)." + tail,
		},
		"Redis was away": {
			settled: found, fleet: []fleet.Fact{s.away("r1", "11:59:58", "12:00:29", 2), s.away("r2", "11:59:59", "12:00:28", 2)},
			text: "It was missed because Redis did not answer from 11:59:59 to 12:00:29, as r1 and r2 noted." + tail,
		},
		"of a large fleet three say so": {
			settled: found, fleet: []fleet.Fact{s.away("r1", "11:59:58", "12:00:29", 90), s.away("r2", "11:59:59", "12:00:28", 90), s.away("r3", "11:59:59", "12:00:28", 90)},
			text: "as r1, r2 and r3 noted",
		},
		"only one of three did not reach it": {
			settled: found, fleet: []fleet.Fact{s.away("r1", "11:59:58", "12:00:29", 3)},
			text: unknown + " r1 noted that Redis did not answer it from 11:59:58 to 12:00:29." + tail, not: "because",
		},
		"Redis was away at another time": {
			settled: found, fleet: []fleet.Fact{s.away("r1", "11:58:58", "11:59:29", 1)}, text: unknown + tail, not: "Redis",
		},
		"claims were held": {
			settled: found, fleet: []fleet.Fact{s.held("r1", "11:59:58", "12:00:29", 8*time.Hour), s.held("r2", "11:59:59", "12:00:28", 8*time.Hour)},
			text: "It was missed because nothing was claimed from 11:59:59 to 12:00:29, since the clock of Redis had stepped forward by 8h, as r1 and r2 noted." + tail,
		},
		"claims were held from the start": {
			settled: found, fleet: []fleet.Fact{s.absent("r2", "11:59:55", "r1", "12:00:01"), s.held("r1", "12:00:01", "12:00:30", 0), s.held("r2", "12:00:01", "12:00:30", 0)},
			text: "then nothing was claimed from 12:00:01 to 12:00:30, since the clock of Redis disagreed with that of a machine where a replica had just started",
		},
		"only one of two held its claims": {
			settled: found, fleet: []fleet.Fact{s.held("r1", "11:59:58", "12:00:29", -time.Hour)},
			text: unknown + " r1 noted that it claimed nothing from 11:59:58 to 12:00:29, since the clock of Redis had stepped back by 1h." + tail, not: "because",
		},
		"Redis was away too briefly": {
			settled: found, fleet: []fleet.Fact{s.away("r1", "12:00:00", "12:00:02", 1)},
			text: "and why is not known for all of that time. What is known: Redis did not answer from 12:00:00 to 12:00:02, as r1 noted.", not: "because",
		},
		"Redis and then the fleet": {
			settled: found, fleet: []fleet.Fact{s.absent("r2", "12:00:04", "r1", "12:00:30"), s.away("r2", "11:59:59", "12:00:04", 1)},
			text: "because Redis did not answer from 11:59:59 to 12:00:04, as r2 noted; then no replica lived: the fleet's last heartbeat came at 12:00:04",
		},
		"of its group": {
			job: eu, settled: found, fleet: []fleet.Fact{s.absent("eu1", "11:59:55", "eu2", "12:00:30", "eu")},
			text: "It was missed because no replica of group eu lived: the last heartbeat of one came at 11:59:55 (eu1), and the next replica at 12:00:30 (eu2)." + tail,
		},
		"of another group": {
			job: eu, settled: found, fleet: []fleet.Fact{s.absent("us1", "11:59:55", "us2", "12:00:30", "us")}, text: unknown + tail, not: "group",
		},
		"edited": {
			settled: edited,
			facts: []fleet.Fact{
				{Kind: wire.FactEdited, By: "r2", From: s.at("12:00:25"), Schedule: "0 * * * * UTC", Before: "5 * * * * UTC"},
				{Kind: wire.FactEdited, By: "r3", From: s.at("11:00:25"), Schedule: "5 * * * * UTC"},
			},
			fleet: []fleet.Fact{s.absent("r2", "11:59:55", "r1", "12:00:20")},
			text: "It was missed because the schedule was changed at 12:00:25, when r2 was the first to bring 0 * * * * UTC in place of 5 * * * * UTC: " +
				"ticks from before an edit that only the new schedule has are not run." + tail,
			not: "heartbeat",
		},
		"edited, by whom nobody noted": {
			settled: edited, record: protocol.Record{Revised: s.at("12:00:25")},
			text: "because the schedule was changed at 12:00:25, by whom is not known:",
		},
		"nothing was noted": {settled: found, text: unknown + tail, not: "because"},
	} {
		t.Run(name, func(t *testing.T) {
			q := fleet.Question{
				Namespace: "ns", Job: test.job, Tick: s.at("12:00:00"), Now: s.at("12:10:00"), Facts: test.facts, FleetFacts: test.fleet,
				Record: test.record,
			}
			if q.Job == nil {
				q.Job = job(t, "@hourly")
			}
			q.Record.Name, q.Record.Watermark, q.Record.Settled = "report", s.ms("12:00:00"), []protocol.Settled{test.settled}
			e := fleet.Explain(q)
			require.Equal(t, string("missed"), e.Verdict)
			require.Contains(t, e.Text, test.text)
			if test.not != "" {
				require.NotContains(t, e.Text, test.not)
			}
		})
	}
}

func TestWhyNamesWhoHeldBeforeAndWhoAsked(t *testing.T) {
	s := story{t}
	q := fleet.Question{Namespace: "ns", Job: job(t, "@hourly"), Tick: s.at("12:00:00"), Now: s.at("12:10:00"), Record: protocol.Record{
		Name: "report", Watermark: s.ms("12:00:00"), Settled: []protocol.Settled{s.ran("12:00:00", "12:00:20", "12:00:24", "r3", 3, "succeeded", "")},
	}, Facts: []fleet.Fact{
		{Kind: wire.FactTakeover, Tick: s.at("12:00:00"), By: "r3", Replica: "r2", Token: 2, Attempt: 2, From: s.at("12:00:10"), To: s.at("12:00:19"), Released: true},
		{Kind: wire.FactTakeover, Tick: s.at("12:00:00"), By: "r2", Replica: "r1", Token: 1, Attempt: 1, From: s.at("12:00:01"), To: s.at("12:00:09")},
		{Kind: wire.FactTakeover, Tick: s.at("11:00:00"), By: "r2", Replica: "r9", Token: 1, Attempt: 1, From: s.at("11:00:01"), To: s.at("11:00:09")},
	}, Former: []fleet.Replica{{ID: "r1", LastHeartbeat: s.at("12:00:05")}}}
	e := fleet.Explain(q)
	require.Contains(t, e.Text, "r3 started it at 12:00:20, and it succeeded after 4s")
	require.Contains(t, e.Text, " r1 held it from 12:00:01 until its lease ran out at 12:00:09 (attempt 1, token 1): it had died, was frozen, or did not reach Redis "+
		"(its last heartbeat came at 12:00:05). r2 took it over. r2 held it from 12:00:10 (attempt 2, token 2) and gave it up; r3 took it over at 12:00:19.")
	require.NotContains(t, e.Text, "r9")
	require.Len(t, e.Facts, 2)
	require.Equal(t, []string{"r1", "r2"}, []string{e.Entry.Holders[0].Replica, e.Entry.Holders[1].Replica})

	q.Tick = s.at("12:00:00.123")
	q.Record.Settled = []protocol.Settled{s.ran("12:00:00.123", "12:00:20", "12:00:24", "r3", 1, "succeeded", "")}
	q.Facts = []fleet.Fact{
		{Kind: wire.FactTriggered, Tick: q.Tick, By: "bob", At: s.at("12:00:03")},
		{Kind: wire.FactTriggered, Tick: q.Tick, By: "anna", Key: "deploy-1", At: s.at("12:00:01")},
	}
	e = fleet.Explain(q)
	require.Contains(t, e.Text, `It was triggered by hand, by anna at 12:00:01 with key "deploy-1" and by bob at 12:00:03. r3 `)
	require.Equal(t, []string{"anna", "deploy-1"}, []string{e.Entry.TriggeredBy, e.Entry.Key})
	text, err := fleet.Marshal(e)
	require.NoError(t, err)
	require.Contains(t, string(text), `"triggered_by":"anna","trigger_key":"deploy-1"`)
	require.Contains(t, string(text), `"former_holders":[]`)
	require.Contains(t, string(text), `"facts":[{"kind":"triggered",`)

	q.Tick = s.at("12:00:00")
	q.Record.Settled = []protocol.Settled{{
		Tick: s.ms("12:00:00"), Token: s.at("12:00:01").UnixMicro(), Attempt: 1, Outcome: "replaced", At: s.at("12:00:09"), Holder: "r1", Note: "expired",
	}}
	e = fleet.Explain(q)
	require.Contains(t, e.Text, "its lease had run out by 12:00:09: r1 had died, was frozen, or did not reach Redis (its last heartbeat came at 12:00:05). It was not run again, to make room for")
	require.NotContains(t, e.Text, "stopped")
}

func TestWhyNamesWhoPausedAfterTheResume(t *testing.T) {
	s := story{t}
	q := fleet.Question{Namespace: "ns", Job: job(t, "@hourly"), Tick: s.at("12:00:00"), Now: s.at("14:10:00"), Record: protocol.Record{
		Name: "report", Watermark: s.ms("13:00:00"), Settled: []protocol.Settled{s.skipped("12:00:00", "12:00:00", "r3", "paused")},
	}}
	paused := fleet.Fact{Kind: wire.FactPaused, By: "ops1", Why: "the index moves", From: s.at("11:30:00")}
	resumed := fleet.Fact{Kind: wire.FactResumed, By: "ops3", Pauser: "ops1", Why: "the index moves", From: s.at("11:30:00"), To: s.at("12:30:00")}
	later := fleet.Fact{Kind: wire.FactPaused, By: "ops4", From: s.at("13:30:00")}
	earlier := fleet.Fact{Kind: wire.FactResumed, By: "ops5", Pauser: "ops6", From: s.at("09:30:00"), To: s.at("10:30:00")}
	for _, test := range []struct {
		facts []fleet.Fact
		text  string
	}{
		{[]fleet.Fact{later, resumed, paused, earlier}, `It was skipped because the job was paused by ops1 at 11:30:00 because "the index moves", until ops3 resumed it at 12:30:00.`},
		{[]fleet.Fact{later, paused, earlier}, `It was skipped because the job was paused by ops1 at 11:30:00 because "the index moves", and was resumed since; when and by whom is not known.`},
		{[]fleet.Fact{later, earlier}, "It was skipped by r3 at 12:00:00 because the job was paused then."},
	} {
		q.Facts = test.facts
		require.Equal(t, test.text, fleet.Explain(q).Text)
	}
}

func TestWhyExplainsTheEffectOfAClockChange(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return parsed
	}
	said := func(tick, spec string) string {
		q := fleet.Question{Namespace: "ns", Job: job(t, spec, jobs.WithTimezone("Europe/Berlin")), Tick: at(tick), Now: at(tick).Add(time.Hour), Record: protocol.Record{
			Name: "report", Watermark: at(tick).UnixMilli(), Settled: []protocol.Settled{
				{Tick: at(tick).UnixMilli(), Token: at(tick).UnixMicro(), Attempt: 1, Outcome: "succeeded", At: at(tick).Add(time.Second), Holder: "r1"},
			},
		}}
		return fleet.Explain(q).String()
	}
	text := said("2027-03-28T01:00:00Z", "30 2 * * *")
	require.Contains(t, text, "report, tick of 2027-03-28 03:00:00 +0200, succeeded: r1 started it at ")
	require.Contains(t, text, "02:30 on 2027-03-28 does not exist in Europe/Berlin, where the clock goes from 02:00 to 03:00: the tick runs at 03:00")
	require.Contains(t, said("2027-10-31T00:30:00Z", "30 2 * * *"), "02:30 on 2027-10-31 comes twice in Europe/Berlin")
	require.NotContains(t, said("2027-10-31T03:30:00Z", "30 2,4 * * *"), "twice")
	require.NotContains(t, said("2027-07-01T00:30:00Z", "30 2 * * *"), "clock")
}

func TestFactsSurviveTheirEncoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlease.Store)
		f, err := fleet.New(store)
		require.NoError(t, err)
		at := time.Now().UTC().Truncate(time.Millisecond)
		fact := fleet.Fact{
			Kind: wire.FactTakeover, Tick: at, By: "r2", Key: "k", Why: "\x00 so", Pauser: "p", From: at, To: at, Replica: "r1", Token: 1<<53 - 1, Attempt: 2,
			Released: true, Groups: []string{"eu"}, Schedule: "s", Before: "b", Living: 3, Step: -time.Hour,
		}
		require.NoError(t, store.Append(t.Context(), "job", fact.Request(), fact.Encode()))
		require.NoError(t, store.Append(t.Context(), "job", "other", []byte("of a later version")))
		got, err := f.Facts(t.Context(), "job")
		require.NoError(t, err)
		fact.At = got[0].At
		require.Equal(t, []fleet.Fact{fact}, got)

		fact.Why = string(make([]byte, 3*protocol.MaxNoteText))
		require.LessOrEqual(t, len(fact.Encode()), protocol.MaxNoteText)
		got, err = f.Facts(t.Context(), "")
		require.NoError(t, err)
		require.Empty(t, got)
	})
}
