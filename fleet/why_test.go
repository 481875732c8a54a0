package fleet_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func TestWhyNamesEveryCauseInWords(t *testing.T) {
	s := story{t}
	serving := []fleet.Replica{
		{ID: "r1", Jobs: map[string]string{"report": "a"}, JobCount: 1}, {ID: "r2", Jobs: map[string]string{"report": "a"}, JobCount: 1},
	}
	hourly := job(t, "@hourly")
	many := make([]protocol.Settled, 0, protocol.History)
	for i := range protocol.History {
		at := s.at("12:00:00").Add(time.Duration(i-protocol.History) * time.Hour)
		many = append(many, protocol.Settled{Tick: at.UnixMilli(), Token: at.UnixMicro(), Attempt: 1, Outcome: "succeeded", At: at, Holder: "r1"})
	}

	for name, test := range map[string]struct {
		tick      string // "" for none
		job       *jobs.Job
		unknown   bool // the job's definition
		replicas  []fleet.Replica
		watermark string
		open      []protocol.Open
		settled   []protocol.Settled
		paused    *protocol.Pause
		now       string

		verdict string
		text    string
	}{
		"succeeded": {
			tick: "12:00:00", watermark: "12:00:00", settled: []protocol.Settled{s.ran("12:00:00", "12:00:01", "12:00:04", "r2", 1, "succeeded", "")},
			verdict: "succeeded",
			text:    "r2 started it at 12:00:01, and it succeeded after 3s: attempt 1, token 1795176001000000.",
		},
		"failed": {
			tick: "12:00:00", watermark: "12:00:00", settled: []protocol.Settled{s.ran("12:00:00", "12:00:01", "12:00:04", "r2", 3, "failed", "exit status 1")},
			verdict: "failed",
			text:    `r2 started it at 12:00:01, and it failed after 3s: attempt 3, token 1795176001000000: "exit status 1".`,
		},
		"triggered": {
			tick: "12:00:00.123", watermark: "12:00:00", settled: []protocol.Settled{s.ran("12:00:00.123", "12:00:01", "12:00:04", "r2", 1, "succeeded", "")},
			verdict: "succeeded", text: "It was triggered by hand; by whom is not known. r2 started it at 12:00:01",
		},
		"failed, with output": {
			tick: "12:00:00", watermark: "12:00:00",
			settled: []protocol.Settled{s.ran("12:00:00", "12:00:01", "12:00:04", "r2", 3, "failed", "exit code 1; last output:\none\ntwo\n")},
			verdict: "failed",
			text: "r2 started it at 12:00:01, and it failed after 3s: attempt 3, token 1795176001000000: " +
				"\"exit code 1; last output:\".\n    one\n    two",
		},
		"waiting where ticks may overlap": {
			tick: "12:00:00.123", watermark: "12:00:00", now: "12:00:30", job: job(t, "@hourly", jobs.WithOverlap(jobs.Allow)),
			open:    []protocol.Open{s.open("11:00:00", "11:00:20", "r1", 1, time.Second), s.open("12:00:00.123", "", "r2", 0, 0)},
			verdict: "waiting", text: "It was triggered by hand. It waits to be claimed. r2 asked for it. r1 and r2 serve it.",
		},
		"no room": {
			tick: "14:00:00", watermark: "14:00:00", settled: []protocol.Settled{s.passed("11:00:00", "14:00:00", "14:00:12", "r2", "missed", "capacity", 3)},
			verdict: "missed", text: "It was missed because no replica had room for it in time: what they ran filled their max_runs. r2 found it at 14:00:12, 12s after its time; " +
				"the job's misfire policy is latest, and its weight 1. r2 settled 3 ticks after 11:00:00 up to 14:00:00 together.",
		},
		"overload": {
			tick: "14:00:00", watermark: "14:00:00", settled: []protocol.Settled{s.passed("11:00:00", "14:00:00", "14:00:12", "r2", "missed", "overload", 3)},
			verdict: "missed", text: "It was missed because the store was slower than it was asked, and claims had to wait. r2 found it at 14:00:12, 12s after its time; " +
				"the job's misfire policy is latest. r2 settled 3 ticks after 11:00:00 up to 14:00:00 together.",
		},
		"undecided without room": {
			tick: "15:00:00", now: "15:00:08", watermark: "14:00:00",
			replicas: []fleet.Replica{
				{ID: "r1", Jobs: map[string]string{"report": "a"}, JobCount: 1, MaxRuns: 2, Used: 2},
				{ID: "r2", Jobs: map[string]string{"report": "a"}, JobCount: 1, MaxRuns: 1, Used: 1},
			},
			verdict: "undecided", text: "It waits for room, since its weight is 1: r1 runs 2 of 2 and r2 runs 1 of 1.",
		},
		"undecided and too heavy": {
			tick: "15:00:00", now: "15:00:08", watermark: "14:00:00", job: job(t, "@hourly", jobs.WithWeight(3)),
			replicas: []fleet.Replica{{ID: "r1", Jobs: map[string]string{"report": "a"}, JobCount: 1, MaxRuns: 2}},
			verdict:  "undecided", text: "Its weight, 3, is above the max_runs of every replica that serves it: r1 runs 0 of 2.",
		},
		"undecided where ticks may overlap": {
			tick: "12:00:00", watermark: "11:00:00", now: "12:00:01", job: job(t, "@hourly", jobs.WithOverlap(jobs.Allow)),
			open:    []protocol.Open{s.open("11:00:00", "11:00:20", "r1", 1, time.Second)},
			verdict: "undecided", text: "It was due 1s ago, and nobody has decided about it yet. r1 and r2 serve it.",
		},
		"skipped before overlap was allowed": {
			tick: "12:00:00", watermark: "12:00:00", job: job(t, "@hourly", jobs.WithOverlap(jobs.Allow)),
			settled: []protocol.Settled{
				s.skipped("12:00:00", "12:00:00.050", "r2", "overlap"),
				s.ran("11:00:00", "11:00:01", "12:10:00", "r1", 1, "succeeded", ""),
			},
			verdict: "skipped",
			text:    "It was skipped because r1 still ran 11:00:00, until 12:10:00, and the job's overlap policy was another one than now, which is allow.",
		},
		"an outcome of another program": {
			tick: "12:00:00", watermark: "12:00:00", settled: []protocol.Settled{s.ran("12:00:00", "12:00:01", "12:00:04", "r2", 1, "half_done", "ask me")},
			verdict: "half_done", text: `r2 settled it at 12:00:04 as half_done: "ask me".`,
		},
		"running": {
			tick: "12:00:00", watermark: "12:00:00", open: []protocol.Open{s.open("12:00:00", "12:00:20", "r1", 2, 14*time.Second)}, now: "12:00:30",
			verdict: "running",
			text:    "r1 has run it since 12:00:20: attempt 2, token 1795176020000000. Its lease runs out in 14s unless it is renewed.",
		},
		"free": {
			tick: "12:00:00", watermark: "12:00:00", open: []protocol.Open{s.open("12:00:00", "12:00:20", "r1", 2, 0)}, now: "12:00:30",
			verdict: "free",
			text: "r1 began to run it at 12:00:20 (attempt 2, token 1795176020000000), and gave it up, or let its lease run out. " +
				"The next replica to claim it runs attempt 3. r1 and r2 serve it.",
		},
		"waiting for its turn": {
			tick: "12:00:00", watermark: "12:00:00", now: "12:00:30",
			open:    []protocol.Open{s.open("11:00:00", "11:00:20", "r1", 1, time.Second), s.open("12:00:00", "", "r2", 0, 0)},
			verdict: "waiting", text: "It waits for its turn behind the tick of 11:00:00, which runs on r1 since 11:00:20. r2 asked for it.",
		},
		"triggered, to be claimed": {
			tick: "12:00:00.123", watermark: "11:00:00", open: []protocol.Open{s.open("12:00:00.123", "", "ops1", 0, 0)}, now: "12:00:30", replicas: []fleet.Replica{},
			verdict: "waiting", text: "It was triggered by hand. It waits to be claimed. ops1 asked for it. No replica is alive.",
		},
		"skipped, the earlier one has ended": {
			tick: "12:00:00", watermark: "12:00:00", job: job(t, "@hourly"),
			settled: []protocol.Settled{
				s.ran("10:00:00", "10:00:00", "10:30:00", "r2", 1, "succeeded", ""),
				s.skipped("12:00:00", "12:00:00.050", "r2", "overlap"),
				s.ran("11:00:00", "11:00:01", "12:10:00", "r1", 1, "succeeded", ""),
			},
			verdict: "skipped", text: "It was skipped because r1 still ran 11:00:00, until 12:10:00, and the job's overlap policy is forbid.",
		},
		"skipped, the earlier one still runs": {
			tick: "12:00:00", watermark: "12:00:00", unknown: true,
			open:    []protocol.Open{s.open("11:00:00", "12:05:00", "r2", 2, time.Second)},
			settled: []protocol.Settled{s.skipped("12:00:00", "12:00:00.050", "r2", "overlap")},
			verdict: "skipped", text: "It was skipped because r2 still ran 11:00:00, and it still does.",
		},
		"skipped, together": {
			tick: "12:00:00", watermark: "13:00:00",
			settled: []protocol.Settled{
				s.ran("10:00:00", "10:00:01", "13:10:00", "r1", 1, "succeeded", ""),
				s.passed("10:00:00", "13:00:00", "13:10:01", "r1", "skipped", "overlap", 3),
			},
			verdict: "skipped",
			text: "It was skipped because r1 still ran 10:00:00, until 13:10:00, and the job's overlap policy is forbid. " +
				"r1 settled 3 ticks after 10:00:00 up to 13:00:00 together.",
		},
		"skipped, behind nothing that is known": {
			tick: "12:00:00", watermark: "12:00:00", unknown: true,
			settled: []protocol.Settled{
				s.ran("11:00:00", "11:00:01", "11:10:00", "r1", 1, "succeeded", ""),
				s.skipped("12:00:00", "12:00:00.050", "r2", "overlap"),
			},
			verdict: "skipped", text: "It was skipped because an earlier tick was still open, which is not in the history any more.",
		},
		"paused": {
			tick: "12:00:00", watermark: "12:00:00", settled: []protocol.Settled{s.skipped("12:00:00", "12:00:00.050", "r2", "paused")},
			paused:  &protocol.Pause{By: "ops1", Reason: "the database moves", Since: s.at("11:30:00")},
			verdict: "skipped", text: `It was skipped because the job is paused: by ops1 since 11:30:00 because "the database moves".`,
		},
		"paused then": {
			tick: "12:00:00", watermark: "12:30:00",
			settled: []protocol.Settled{s.skipped("12:00:00", "12:00:00.050", "r2", "paused"), s.passed("12:00:00", "12:30:00.123", "12:30:00.123", "ops2", "skipped", "", 0)},
			paused:  &protocol.Pause{By: "ops1", Since: s.at("12:40:00")},
			verdict: "skipped", text: "It was skipped by r2 at 12:00:00 because the job was paused then.",
		},
		"paused until it was resumed": {
			tick: "12:00:00", watermark: "12:30:00.123",
			settled: []protocol.Settled{{
				Tick: s.ms("12:30:00.123"), From: s.ms("11:00:00"), Outcome: "skipped", At: s.at("12:30:00.123"), Holder: "ops2", Note: "paused",
			}},
			verdict: "skipped", text: "It was skipped because the job was paused, until ops2 resumed it at 12:30:00.",
		},
		"paused by the configuration": {
			tick: "12:00:00", watermark: "12:00:00", job: job(t, "@hourly", func(s *jobs.Spec) { s.Paused = true }),
			settled: []protocol.Settled{s.passed("11:00:00", "12:00:00", "12:00:00.050", "r2", "skipped", "paused", 1)},
			verdict: "skipped", text: "It was skipped because the configuration of r2 pauses the job.",
		},
		"a newer one took its place": {
			tick: "12:00:00", watermark: "13:00:00", open: []protocol.Open{s.open("11:00:00", "11:00:01", "r1", 1, time.Second), s.open("13:00:00", "", "r2", 0, 0)},
			settled: []protocol.Settled{s.skipped("12:00:00", "13:00:00", "r2", "newer")},
			verdict: "skipped", text: "It was skipped: while it waited for its turn, a newer one took its place, 13:00:00.",
		},
		"skipped by another program": {
			tick: "12:00:00", watermark: "12:00:00", settled: []protocol.Settled{s.skipped("12:00:00", "12:00:01", "r2", "tea")},
			verdict: "skipped", text: "r2 skipped it at 12:00:01: tea.",
		},
		"replaced": {
			tick: "12:00:00", watermark: "13:00:00",
			settled: []protocol.Settled{
				s.ran("12:00:00", "12:00:01", "13:00:01", "r1", 1, "replaced", ""), s.ran("13:00:00", "13:00:01", "13:00:02", "r2", 1, "succeeded", ""),
			},
			verdict: "replaced", text: "r1 ran it from 12:00:01 until it was stopped at 13:00:01 to make room for the newer one of 13:00:00: attempt 1, token 1795176001000000.",
		},
		"replaced before it ran": {
			tick: "12:00:00", watermark: "13:00:00",
			settled: []protocol.Settled{
				{Tick: s.ms("12:00:00"), Outcome: "replaced", At: s.at("13:00:00"), Holder: "r1"}, s.ran("13:00:00", "13:00:01", "13:00:02", "r2", 1, "succeeded", ""),
			},
			verdict: "replaced", text: "It never ran: while it waited for its turn, the newer one of 13:00:00 took its place.",
		},
		"missed, together, nothing was noted": {
			tick: "12:00:00", watermark: "14:00:00", now: "15:30:00",
			settled: []protocol.Settled{
				s.ran("11:00:00", "11:00:01", "11:05:03", "r1", 1, "succeeded", ""),
				s.passed("11:00:00", "14:00:00", "15:20:10", "r2", "missed", "misfire", 3),
				s.ran("15:00:00", "15:20:09.999", "15:20:11", "r2", 1, "succeeded", ""), // by the estimate of r2
			},
			verdict: "missed",
			text: "It was missed: nobody started it in time, and why is not known. r2 found it at 15:20:10, 3h20m10s after its time; " +
				"the job's misfire policy is latest. r2 settled 3 ticks after 11:00:00 up to 14:00:00 together.",
		},
		"missed, too old, nothing was noted": {
			tick: "12:00:00", watermark: "12:00:00", settled: []protocol.Settled{s.passed("11:00:00", "12:00:00", "15:20:10", "r2", "missed", "too_old", 1)},
			verdict: "missed",
			text: "It was missed: nobody started it in time, and why is not known. r2 found it at 15:20:10, 3h20m10s after its time; " +
				"that is too late to catch up, which ends after 1h0m0s.",
		},
		"missed, too old, interrupted": {
			tick: "12:00:00", watermark: "12:00:00",
			settled: []protocol.Settled{{
				Tick: s.ms("12:00:00"), Token: 1795176001000000, Attempt: 1, Outcome: protocol.OutcomeMissed, At: s.at("15:20:10"), Holder: "r1", Note: protocol.NoteTooOld,
			}},
			verdict: "missed",
			text: "Its run by r1 was interrupted, and nobody took it over in time: when it was found, at 15:20:10, " +
				"its lease had run out for too long to catch up, which ends after 1h0m0s.",
		},
		"missed, too many, nothing was noted": {
			tick: "12:00:00", watermark: "12:00:00",
			settled: []protocol.Settled{
				s.ran("11:00:00", "11:00:01", "12:05:03", "r1", 1, "succeeded", ""),
				s.passed("11:00:00", "12:00:00", "12:20:10", "r2", "missed", "too_many", 1),
			},
			verdict: "missed",
			text: "It was missed: nobody started it in time, and why is not known. r2 found it at 12:20:10, 20m10s after its time; " +
				"there were too many to catch up, at most 100.",
		},
		"missed, forgotten": {
			tick: "12:00:00", watermark: "12:00:00", unknown: true, settled: []protocol.Settled{s.passed("11:00:00", "12:00:00", "12:20:10", "r2", "missed", "forgotten", 1)},
			verdict: "missed", text: "Whether it ran is not known: Redis had lost the record of the job, and r2 settled it as missed at 12:20:10.",
		},
		"lost": {
			tick: "12:00:00", watermark: "12:00:00",
			settled: []protocol.Settled{{
				Tick: s.ms("12:00:00"), Token: s.at("12:03:00").UnixMicro(), Attempt: 4, Outcome: "lost", At: s.at("12:04:00"), Holder: "r1", Note: "expired",
			}},
			verdict: "lost",
			text: "It was lost: after 4 attempts the last lease ran out, that of r1 since 12:03:00 (token 1795176180000000), " +
				"and it may not be run again (max_takeovers: 3). That was noticed at 12:04:00.",
		},
		"lost at once": {
			tick: "12:00:00", watermark: "12:00:00", job: job(t, "@hourly", jobs.WithDelivery(jobs.AtMostOnce)),
			settled: []protocol.Settled{s.ran("12:00:00", "12:00:01", "12:00:20", "r1", 1, "lost", "context canceled")},
			verdict: "lost",
			text: "r1 ran it from 12:00:01 and lost its lease (attempt 1, token 1795176001000000), " +
				`and it may not be run again (delivery: at_most_once): "context canceled".`,
		},
		"not scheduled": {
			tick: "12:30:00", watermark: "12:00:00",
			verdict: "not_scheduled", text: `The schedule "@hourly" has no such tick, and nobody triggered it. The ticks around it are 12:00:00 and 13:00:00.`,
		},
		"not scheduled, though within a range": {
			tick: "12:30:00", watermark: "14:00:00", settled: []protocol.Settled{s.passed("11:00:00", "14:00:00", "15:20:10", "r2", "missed", "misfire", 3)},
			verdict: "not_scheduled", text: "The ticks around it are 12:00:00 and 13:00:00.",
		},
		"in a range of an unknown schedule": {
			tick: "12:30:00", watermark: "14:00:00", unknown: true, settled: []protocol.Settled{s.passed("11:00:00", "14:00:00", "15:20:10", "r2", "missed", "misfire", 3)},
			verdict: "missed", text: "why is not known. r2 found it at 15:20:10",
		},
		"before the first": {
			tick: "12:30:00", job: job(t, "@at 2026-11-21T08:00:00Z"), watermark: "12:00:00",
			verdict: "not_scheduled", text: "Its first one is 2026-11-21 08:00:00 +0000.",
		},
		"after the last": {
			tick: "12:30:00", job: job(t, "@at 2026-11-19T08:00:00Z"), watermark: "12:00:00",
			verdict: "not_scheduled", text: "Its last one was 2026-11-19 08:00:00 +0000.",
		},
		"never triggered": {
			tick: "12:30:00.001", unknown: true, watermark: "12:00:00",
			verdict: "not_scheduled", text: "No such tick was triggered: those of schedules are whole seconds.",
		},
		"future": {
			tick: "17:00:00", watermark: "12:00:00", now: "16:00:00",
			verdict: "future", text: "Its time has not come: it is due in 1h.",
		},
		"future, paused": {
			tick: "17:00:00", watermark: "12:00:00", now: "16:00:00", paused: &protocol.Pause{By: "ops1", Since: s.at("11:30:00")},
			verdict: "future", text: "It will be skipped unless the job is resumed before: by ops1 since 11:30:00.",
		},
		"future, nobody to run it": {
			tick: "17:00:00", watermark: "12:00:00", now: "16:00:00", replicas: []fleet.Replica{{ID: "r9"}},
			verdict: "future", text: "None of the live replicas (r9) serves this job.",
		},
		"due a moment ago": {
			tick: "13:00:00", watermark: "12:00:00", now: "13:00:00.200",
			verdict: "undecided", text: "It was due 200ms ago, and nobody has decided about it yet. r1 and r2 serve it.",
		},
		"due long ago": {
			tick: "13:00:00", watermark: "12:00:00", now: "13:10:00",
			verdict: "undecided", text: "r1 and r2 serve it. It should have been claimed: see whether those replicas reach Redis, and what they log.",
		},
		"due, shifted": {
			tick: "13:00:00", watermark: "12:00:00", now: "13:00:10", job: job(t, "@hourly", jobs.WithJitter(time.Minute)),
			verdict: "undecided", text: "The job's jitter shifts its start by up to 1m0s.",
		},
		"due, behind another": {
			tick: "13:00:00", watermark: "12:00:00", now: "13:10:00", open: []protocol.Open{s.open("12:00:00", "12:00:20", "r1", 1, time.Second)},
			verdict: "undecided", text: "It waits for its turn behind the tick of 12:00:00, which runs on r1 since 12:00:20.",
		},
		"due, nobody serves it": {
			tick: "13:00:00", watermark: "12:00:00", now: "13:10:00", replicas: []fleet.Replica{{ID: "r9"}},
			verdict: "undecided",
			text: "It was due 10m ago, and nobody has decided about it yet. None of the live replicas (r9) serves this job. " +
				"When one comes, the job's misfire policy decides.",
		},
		"due, nobody ever served it": {
			tick: "13:00:00", now: "13:10:00", replicas: []fleet.Replica{},
			verdict: "undecided",
			text: "No replica has ever contended for this job in this namespace, as far as Redis remembers, which is since 08:00:00. " +
				"No replica is alive.",
		},
		"due, Redis forgot it": {
			tick: "13:00:00", now: "13:10:00",
			verdict: "undecided", text: "Redis has no record of this job, and remembers since 08:00:00. r1 and r2 serve it.",
		},
		"too old for the history": {
			tick: "2026-11-10 12:00:00", watermark: "11:00:00", settled: many,
			verdict: "not_kept", text: "It was decided, and the history does not go back so far: it holds the last 128 outcomes, since 2026-11-15 04:00:00 +0000.",
		},
		"before the record began": {
			tick: "10:00:00", watermark: "12:00:00", settled: []protocol.Settled{s.ran("12:00:00", "12:00:01", "12:00:04", "r2", 1, "succeeded", "")},
			verdict: "not_kept", text: "passed over when the fleet began to keep the record of this job; the first outcome in its history is of 12:00:04.",
		},
		"no history yet": {
			tick: "10:00:00", watermark: "12:00:00",
			verdict: "not_kept", text: "the history holds nothing yet.",
		},
		"lost by Redis": {
			tick: "13:00:00", watermark: "14:00:00", settled: []protocol.Settled{
				s.ran("12:00:00", "12:00:01", "12:00:04", "r2", 1, "succeeded", ""), s.ran("14:00:00", "14:00:01", "14:00:04", "r2", 1, "succeeded", ""),
			},
			verdict: "not_kept", text: "It was decided, but its outcome is not in the history: Redis has lost it, in a failover or a restart. Redis remembers since 08:00:00.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := fleet.Question{
				Namespace: "ns", Job: hourly, Replicas: serving, Now: s.at("16:00:00"), Since: s.at("08:00:00"),
				Record: protocol.Record{Name: "report", Open: test.open, Settled: test.settled, Paused: test.paused},
			}
			if test.job != nil {
				q.Job = test.job
			} else if test.unknown {
				q.Job = nil
			}
			if test.replicas != nil {
				q.Replicas = test.replicas
			}
			if test.watermark != "" {
				q.Record.Watermark = s.ms(test.watermark)
			}
			if test.now != "" {
				q.Now = s.at(test.now)
			}
			if date, rest, ok := strings.Cut(test.tick, " "); ok {
				day, err := time.Parse(time.DateOnly, date)
				require.NoError(t, err)
				q.Tick = day.Add(s.at(rest).Sub(s.at("00:00:00")))
			} else {
				q.Tick = s.at(test.tick)
			}

			e := fleet.Explain(q)
			require.Equal(t, test.verdict, e.Verdict, e.Text)
			require.Contains(t, e.Text, test.text)
			require.Equal(t, jobs.Run{Namespace: "ns", Job: "report", Tick: q.Tick}.TickID(), e.ID)
			require.Equal(t, e, fleet.Explain(q), "a pure function")
		})
	}
}

func TestWhyChoosesDueTickElseNewestDecidedOne(t *testing.T) {
	s := story{t}
	q := fleet.Question{Job: job(t, "@hourly"), Now: s.at("14:10:00"), Record: protocol.Record{Name: "report"}}
	require.Equal(t, s.at("15:00:00"), fleet.Explain(q).Tick, "nothing was decided: the next")

	q.Record.Watermark = s.ms("12:00:00")
	q.Record.Settled = []protocol.Settled{s.ran("12:00:00", "12:00:01", "12:00:04", "r2", 1, "succeeded", "")}
	require.Equal(t, s.at("13:00:00"), fleet.Explain(q).Tick, "the oldest that is due")

	q.Record.Watermark = s.ms("14:00:00")
	q.Record.Settled = append(q.Record.Settled, s.ran("12:30:00.123", "12:30:01", "12:30:04", "r2", 1, "succeeded", ""))
	require.Equal(t, s.at("12:30:00.123"), fleet.Explain(q).Tick, "the newest that was decided")

	q.Record.Settled = append(q.Record.Settled, s.passed("12:00:00", "14:05:00", "14:05:00", "r2", "missed", "misfire", 2))
	require.Equal(t, s.at("14:00:00"), fleet.Explain(q).Tick, "the newest tick of a range")

	leader, err := jobs.New("report", "", func(context.Context, jobs.Run) error { return nil }, jobs.WithLeader())
	require.NoError(t, err)
	q = fleet.Question{Job: leader, Now: s.at("14:10:00"), Record: protocol.Record{Name: "report", Settled: []protocol.Settled{
		{Outcome: "released", Token: s.ms("12:00:00") * 1000, Attempt: 1, At: s.at("13:00:00"), Holder: "r1"},
	}}}
	e := fleet.Explain(q)
	require.Equal(t, wire.NoTick, e.Verdict)
	const what = "report: It is a leader task, which runs all the time and has no ticks. "
	require.Equal(t, what+"No replica runs it now. No replica is alive.", e.String())
	q.Record.Paused = &protocol.Pause{By: "ops1", Since: s.at("13:00:00")}
	require.Equal(t, what+"It does not run, since it is paused: by ops1 since 2026-11-20 13:00:00 +0000.", fleet.Explain(q).String())
	q.Record.Open = []protocol.Open{{Token: s.ms("13:00:01") * 1000, Attempt: 1, Holder: "r2", Remaining: time.Second}}
	require.Equal(t, what+"It runs on r2 since 2026-11-20 13:00:01 +0000: token 1795179601000000. "+
		"Its lease lasts another 1s unless it is renewed.", fleet.Explain(q).String())
	failing := fleet.FailingRun{
		Job: "report", Token: s.ms("13:00:01") * 1000, Attempt: 1, Failures: 53, Since: s.at("14:02:00"), Error: "exit code 1", Next: s.at("14:10:03"),
	}
	q.Replicas = []fleet.Replica{{ID: "r2", Failing: []fleet.FailingRun{failing}}}
	require.Equal(t, what+"It leads on r2 since 2026-11-20 13:00:01 +0000, and is started again at 2026-11-20 14:10:03 +0000: token 1795179601000000. "+
		`The last 53 attempts have failed, the first of them at 2026-11-20 14:02:00 +0000: "exit code 1".`, fleet.Explain(q).String())
}

func TestWhySaysThatATickWaitsForItsNextAttempt(t *testing.T) {
	s := story{t}
	failing := fleet.FailingRun{
		Job: "report", Token: s.ms("14:00:00") * 1000, Attempt: 1, Failures: 1, Since: s.at("14:00:02"), Error: "exit code 1", Next: s.at("14:00:40"),
	}
	q := fleet.Question{
		Job: job(t, "@hourly"), Now: s.at("14:00:10"), Tick: s.at("14:00:00"), Replicas: []fleet.Replica{{ID: "r2", Failing: []fleet.FailingRun{failing}}},
		Record: protocol.Record{Name: "report", Watermark: s.ms("14:00:00"), Open: []protocol.Open{
			{Tick: s.ms("14:00:00"), Token: failing.Token, Attempt: 1, Holder: "r2", Remaining: time.Second},
		}},
	}
	e := fleet.Explain(q)
	require.Equal(t, wire.StateRetrying, e.Verdict)
	require.Equal(t, `r2 holds it, and makes attempt 2 at 14:00:40: token 1795183200000000. Attempt 1 failed at 14:00:02: "exit code 1".`, e.Text)
	q.Now = s.at("14:00:41")
	e = fleet.Explain(q)
	require.Equal(t, wire.StateRunning, e.Verdict)
	require.Contains(t, e.Text, `Attempt 1 failed at 14:00:02: "exit code 1".`)
}

func TestWhyShowsTimesInTheJobsZone(t *testing.T) {
	s := story{t}
	e := fleet.Explain(fleet.Question{
		Job: job(t, "0 2 * * *", jobs.WithTimezone("Asia/Tokyo")), Now: s.at("18:00:00"), Tick: s.at("17:00:00"),
		Record: protocol.Record{Name: "report", Watermark: s.ms("17:00:00"), Settled: []protocol.Settled{
			s.ran("17:00:00", "17:00:01", "17:00:04", "r2", 1, "succeeded", ""),
		}},
	})
	require.Equal(t, "report, tick of 2026-11-21 02:00:00 +0900, succeeded: r2 started it at 02:00:01, and it succeeded after 3s: "+
		"attempt 1, token 1795194001000000.", e.String())
}
