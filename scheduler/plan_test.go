package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// every returns the ticks at the multiples of a period in ms, without jitter.
func every(period int64) func(*situation) {
	return func(s *situation) {
		s.tickAfter = func(after int64) int64 { return (after/period + 1) * period }
		s.due = func(tick int64) int64 { return tick }
	}
}

// shifted makes every tick due so much later.
func shifted(jitter int64) func(*situation) {
	return func(s *situation) {
		s.spec.Jitter = time.Duration(jitter) * time.Millisecond
		s.due = func(tick int64) int64 { return tick + jitter }
	}
}

func policy(f func(*jobs.Spec)) func(*situation) { return func(s *situation) { f(s.spec) } }

func misfire(m jobs.Misfire) func(*situation) { return policy(func(s *jobs.Spec) { s.Misfire = m }) }

func situationOf(changes ...func(*situation)) situation {
	spec := jobs.Defaults() // forbid, latest, a grace of 10 s, a window of 1 h, 100 at most
	s := situation{policies: &policies{spec: &spec}, cursor: cursor{watermark: 60_000}}
	every(60_000)(&s)
	for _, change := range changes {
		change(&s)
	}
	return s
}

// decide is plan where the cursor may have no next tick yet.
func (s situation) decide() decision {
	s.cursor.next = s.tickAfter(s.watermark)
	return plan(s)
}

func TestPlanDecidesAsItsCommentSays(t *testing.T) {
	const allow, skip, wait = protocol.OverlapAllow, protocol.OverlapSkip, protocol.OverlapWait
	const queue, replace = protocol.OverlapQueue, protocol.OverlapReplace
	queued := policy(func(s *jobs.Spec) { s.Overlap = jobs.Queue })
	replacing := policy(func(s *jobs.Spec) { s.Overlap = jobs.Replace })
	edited := func(t int64) func(*situation) { return func(s *situation) { s.edited = t } }
	had := func(period int64) func(*situation) {
		return func(s *situation) { s.had = func(tick int64) bool { return tick%period == 0 } }
	}
	settling := func(s *situation) { s.settling = true }
	overlapAllowed := policy(func(s *jobs.Spec) { s.Overlap = jobs.Allow })
	paused := policy(func(s *jobs.Spec) { s.Paused = true })
	grace := func(d time.Duration) func(*situation) { return policy(func(s *jobs.Spec) { s.MisfireGrace = d }) }
	window := func(d time.Duration) func(*situation) { return policy(func(s *jobs.Spec) { s.CatchUpWindow = d }) }
	most := func(n int) func(*situation) { return policy(func(s *jobs.Spec) { s.MaxCatchUp = n }) }
	at := func(now int64) func(*situation) { return func(s *situation) { s.now = now } }
	watermark := func(m int64) func(*situation) { return func(s *situation) { s.watermark = m } }
	caughtUp := func(t int64) func(*situation) { return func(s *situation) { s.caughtUp = t } }
	blocked := func(t int64) func(*situation) { return func(s *situation) { s.blocked = t } }
	// The tick of the first rows is at 120 s, and those after it a minute each.
	for name, test := range map[string]struct {
		situation []func(*situation)
		want      decision
	}{
		"not due":      {[]func(*situation){at(119_999)}, decision{}},
		"no tick left": {[]func(*situation){at(1 << 50), func(s *situation) { s.tickAfter = func(int64) int64 { return 0 } }}, decision{}},
		"due": {[]func(*situation){at(120_000)},
			decision{action: claimTick, tick: 120_000, overlap: skip, latest: 130_000}},
		"not due by its jitter": {[]func(*situation){shifted(700), at(120_699)}, decision{}},
		"due by its jitter": {[]func(*situation){shifted(700), at(120_700)},
			decision{action: claimTick, tick: 120_000, overlap: skip, latest: 130_700}},

		"prompt to the last": {[]func(*situation){at(120_500)},
			decision{action: claimTick, tick: 120_000, overlap: skip, latest: 130_000}},
		"prompt, overlap allowed": {[]func(*situation){overlapAllowed, at(120_500)},
			decision{action: claimTick, tick: 120_000, overlap: allow, latest: 130_000}},
		"prompt, of a gap that is known": {[]func(*situation){caughtUp(120_000), at(120_100)},
			decision{action: claimTick, tick: 120_000, overlap: wait, latest: 130_000, caughtUp: 120_000}},
		"prompt under every misfire policy": {[]func(*situation){misfire(jobs.MisfireSkip), at(120_000)},
			decision{action: claimTick, tick: 120_000, overlap: skip, latest: 130_000}},
		"no longer prompt": {[]func(*situation){at(120_501)},
			decision{action: claimTick, tick: 120_000, overlap: wait, latest: 130_000, caughtUp: 120_501}},
		"no longer prompt, overlap allowed": {[]func(*situation){overlapAllowed, at(120_501)},
			decision{action: claimTick, tick: 120_000, overlap: allow, latest: 130_000, caughtUp: 120_501}},
		"no longer prompt, of a gap that is known": {[]func(*situation){caughtUp(125_000), at(126_000)},
			decision{action: claimTick, tick: 120_000, overlap: wait, latest: 130_000, caughtUp: 125_000}},

		"within the grace to the last": {[]func(*situation){misfire(jobs.MisfireSkip), at(130_000)},
			decision{action: claimTick, tick: 120_000, overlap: wait, latest: 130_000, caughtUp: 130_000}},
		"past the grace, skip": {[]func(*situation){misfire(jobs.MisfireSkip), at(130_001)},
			decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Missed, reason: wire.ReasonMisfire}},
		"past the grace, latest": {[]func(*situation){at(130_001)},
			decision{action: claimTick, tick: 120_000, overlap: wait, caughtUp: 130_001}},
		"past the grace, all": {[]func(*situation){misfire(jobs.MisfireAll), at(130_001)},
			decision{action: claimTick, tick: 120_000, overlap: wait, caughtUp: 130_001}},
		"past the grace, overlap allowed": {[]func(*situation){overlapAllowed, at(130_001)},
			decision{action: claimTick, tick: 120_000, overlap: allow, caughtUp: 130_001}},
		"the grace counts from the jitter": {[]func(*situation){misfire(jobs.MisfireSkip), shifted(700), at(130_700)},
			decision{action: claimTick, tick: 120_000, overlap: wait, latest: 130_700, caughtUp: 130_700}},
		"past that": {[]func(*situation){misfire(jobs.MisfireSkip), shifted(700), at(130_701)},
			decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Missed, reason: wire.ReasonMisfire}},
		"no grace is a second": {[]func(*situation){misfire(jobs.MisfireSkip), grace(0), at(121_000)},
			decision{action: claimTick, tick: 120_000, overlap: wait, latest: 121_000, caughtUp: 121_000}},
		"and not more": {[]func(*situation){misfire(jobs.MisfireSkip), grace(0), at(121_001)},
			decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Missed, reason: wire.ReasonMisfire}},

		// From 120 s to 600 s there are nine ticks.
		"skip leaves what is within the grace": {[]func(*situation){misfire(jobs.MisfireSkip), at(610_000)},
			decision{action: skipTicks, tick: 540_000, count: 8, outcome: wire.Missed, reason: wire.ReasonMisfire}},
		"skip": {[]func(*situation){misfire(jobs.MisfireSkip), at(610_001)},
			decision{action: skipTicks, tick: 600_000, count: 9, outcome: wire.Missed, reason: wire.ReasonMisfire}},
		"latest leaves the newest that is past the grace": {[]func(*situation){at(610_000)},
			decision{action: skipTicks, tick: 480_000, count: 7, outcome: wire.Missed, reason: wire.ReasonMisfire, caughtUp: 610_000}},
		"latest": {[]func(*situation){at(610_001)},
			decision{action: skipTicks, tick: 540_000, count: 8, outcome: wire.Missed, reason: wire.ReasonMisfire, caughtUp: 610_001}},
		"latest, the newest": {[]func(*situation){watermark(540_000), at(610_001)},
			decision{action: claimTick, tick: 600_000, overlap: wait, caughtUp: 610_001}},
		"latest of a known gap, whatever came since": {[]func(*situation){watermark(540_000), caughtUp(610_001), at(3_000_000)},
			decision{action: claimTick, tick: 600_000, overlap: wait, caughtUp: 610_001}},
		"latest, but none at most": {[]func(*situation){most(0), at(610_001)},
			decision{action: skipTicks, tick: 600_000, count: 9, outcome: wire.Missed, reason: wire.ReasonMisfire, caughtUp: 610_001}},
		"all": {[]func(*situation){misfire(jobs.MisfireAll), at(610_001)},
			decision{action: claimTick, tick: 120_000, overlap: wait, caughtUp: 610_001}},
		"all, as many as may": {[]func(*situation){misfire(jobs.MisfireAll), most(9), at(610_001)},
			decision{action: claimTick, tick: 120_000, overlap: wait, caughtUp: 610_001}},
		"all, one too many": {[]func(*situation){misfire(jobs.MisfireAll), most(8), at(610_001)},
			decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Missed, reason: wire.ReasonTooMany, caughtUp: 610_001}},
		"all, but none at most": {[]func(*situation){misfire(jobs.MisfireAll), most(0), at(610_001)},
			decision{action: skipTicks, tick: 600_000, count: 9, outcome: wire.Missed, reason: wire.ReasonTooMany, caughtUp: 610_001}},

		"in the window to the last": {[]func(*situation){window(5 * time.Minute), misfire(jobs.MisfireAll), at(420_000)},
			decision{action: claimTick, tick: 120_000, overlap: wait, caughtUp: 420_000}},
		"older than the window": {[]func(*situation){window(5 * time.Minute), misfire(jobs.MisfireAll), at(420_001)},
			decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Missed, reason: wire.ReasonTooOld}},
		"older than the window, several": {[]func(*situation){window(5 * time.Minute), at(610_001)},
			decision{action: skipTicks, tick: 300_000, count: 4, outcome: wire.Missed, reason: wire.ReasonTooOld}},
		"no window leaves what is within the grace": {[]func(*situation){window(0), misfire(jobs.MisfireAll), at(610_000)},
			decision{action: skipTicks, tick: 540_000, count: 8, outcome: wire.Missed, reason: wire.ReasonTooOld}},
		"no window, within the grace": {[]func(*situation){window(0), watermark(540_000), at(610_000)},
			decision{action: claimTick, tick: 600_000, overlap: wait, latest: 610_000, caughtUp: 610_000}},

		"paused": {[]func(*situation){paused, at(120_000)},
			decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Skipped, reason: wire.ReasonPaused}},
		"paused for long": {[]func(*situation){paused, at(610_001)},
			decision{action: skipTicks, tick: 600_000, count: 9, outcome: wire.Skipped, reason: wire.ReasonPaused}},
		"paused, not due": {[]func(*situation){paused, at(119_999)}, decision{}},

		"came while one waited for its turn": {[]func(*situation){blocked(130_000), caughtUp(100_000), at(130_000)},
			decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Skipped, reason: wire.ReasonOverlap, caughtUp: 100_000}},
		"came at the last moment of that": {[]func(*situation){blocked(120_000), at(130_000)},
			decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Skipped, reason: wire.ReasonOverlap}},
		"came while one waited, a moment ago": {[]func(*situation){blocked(120_000), at(120_500)},
			decision{action: claimTick, tick: 120_000, overlap: wait, latest: 130_000}},
		"and a moment later": {[]func(*situation){blocked(120_000), at(120_501)},
			decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Skipped, reason: wire.ReasonOverlap}},
		"came while several waited, the last a moment ago": {[]func(*situation){blocked(600_000), at(600_100)},
			decision{action: skipTicks, tick: 540_000, count: 8, outcome: wire.Skipped, reason: wire.ReasonOverlap}},
		"came after that": {[]func(*situation){blocked(119_999), at(120_000)},
			decision{action: claimTick, tick: 120_000, overlap: skip, latest: 130_000}},
		"came while one waited, late or not": {[]func(*situation){blocked(500_000), at(610_001)},
			decision{action: skipTicks, tick: 480_000, count: 7, outcome: wire.Skipped, reason: wire.ReasonOverlap}},
		"is being caught up itself": {[]func(*situation){blocked(130_000), caughtUp(120_000), at(130_000)},
			decision{action: claimTick, tick: 120_000, overlap: wait, latest: 130_000, caughtUp: 120_000}},
		"queue, due":                     {[]func(*situation){queued, at(120_000)}, decision{action: claimTick, tick: 120_000, overlap: queue, latest: 130_000}},
		"queue, prompt to the last":      {[]func(*situation){queued, at(120_500)}, decision{action: claimTick, tick: 120_000, overlap: queue, latest: 130_000}},
		"queue, after trouble":           {[]func(*situation){queued, settling, at(120_000)}, decision{action: claimTick, tick: 120_000, overlap: queue, latest: 130_000}},
		"queue, came while one waited":   {[]func(*situation){queued, blocked(130_000), at(120_000)}, decision{action: claimTick, tick: 120_000, overlap: queue, latest: 130_000}},
		"queue, no longer prompt":        {[]func(*situation){queued, at(120_501)}, decision{action: claimTick, tick: 120_000, overlap: queue, latest: 130_000}},
		"queue, of a gap that is known":  {[]func(*situation){queued, caughtUp(120_000), at(120_100)}, decision{action: claimTick, tick: 120_000, overlap: wait, latest: 130_000, caughtUp: 120_000}},
		"queue, past the grace":          {[]func(*situation){queued, at(130_001)}, decision{action: claimTick, tick: 120_000, overlap: wait, caughtUp: 130_001}},
		"queue, past the grace, skip":    {[]func(*situation){queued, misfire(jobs.MisfireSkip), at(130_001)}, decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Missed, reason: wire.ReasonMisfire}},
		"queue, paused":                  {[]func(*situation){queued, paused, at(120_000)}, decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Skipped, reason: wire.ReasonPaused}},
		"replace, due":                   {[]func(*situation){replacing, at(120_000)}, decision{action: claimTick, tick: 120_000, overlap: replace, latest: 130_000}},
		"replace, after trouble":         {[]func(*situation){replacing, settling, at(120_000)}, decision{action: claimTick, tick: 120_000, overlap: replace, latest: 130_000}},
		"replace, came while one waited": {[]func(*situation){replacing, blocked(130_000), at(120_000)}, decision{action: claimTick, tick: 120_000, overlap: replace, latest: 130_000}},
		"replace, no longer prompt":      {[]func(*situation){replacing, at(120_501)}, decision{action: claimTick, tick: 120_000, overlap: replace, latest: 130_000, caughtUp: 120_501}},
		"replace, past the grace":        {[]func(*situation){replacing, at(130_001)}, decision{action: claimTick, tick: 120_000, overlap: replace, caughtUp: 130_001}},
		"replace, all":                   {[]func(*situation){replacing, misfire(jobs.MisfireAll), at(610_001)}, decision{action: skipTicks, tick: 540_000, count: 8, outcome: wire.Missed, reason: wire.ReasonMisfire, caughtUp: 610_001}},
		"queue, came while one waited that was caught up": {[]func(*situation){queued, blocked(130_000), caughtUp(100_000), at(125_000)},
			decision{action: claimTick, tick: 120_000, overlap: queue, latest: 130_000, caughtUp: 100_000}},
		"queue, the newest of those that came while one waited": {[]func(*situation){queued, watermark(540_000), blocked(700_000), caughtUp(100_000), at(610_001)},
			decision{action: claimTick, tick: 600_000, overlap: queue, caughtUp: 100_000}},
		"queue, several came while one waited": {[]func(*situation){queued, blocked(700_000), caughtUp(100_000), at(610_001)},
			decision{action: skipTicks, tick: 540_000, count: 8, outcome: wire.Skipped, reason: wire.ReasonNewer, caughtUp: 100_000}},
		"forbid, after trouble": {[]func(*situation){settling, at(120_000)}, decision{action: claimTick, tick: 120_000, overlap: wait, latest: 130_000}},
		"edited before it":      {[]func(*situation){edited(120_000), at(130_001)}, decision{action: claimTick, tick: 120_000, overlap: wait, caughtUp: 130_001}},
		"edited after it":       {[]func(*situation){edited(120_001), at(130_001)}, decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Missed, reason: wire.ReasonEdited}},
		"edited after it, within the grace": {[]func(*situation){edited(125_000), at(130_000)},
			decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Missed, reason: wire.ReasonEdited}},
		"edited right after it, left for a moment": {[]func(*situation){edited(120_400), at(120_499)}, decision{action: waitUntil, at: 120_500}},
		"edited right after it, and no longer": {[]func(*situation){edited(120_400), at(120_500)},
			decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Missed, reason: wire.ReasonEdited}},
		"edited after its jitter":  {[]func(*situation){shifted(700), edited(120_701), at(200_000)}, decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Missed, reason: wire.ReasonEdited}},
		"edited before its jitter": {[]func(*situation){shifted(700), edited(120_700), at(179_000)}, decision{action: claimTick, tick: 120_000, overlap: wait, caughtUp: 179_000}},
		"edited after several": {[]func(*situation){misfire(jobs.MisfireAll), edited(300_001), at(610_001)},
			decision{action: skipTicks, tick: 300_000, count: 4, outcome: wire.Missed, reason: wire.ReasonEdited}},
		"edited at one of several": {[]func(*situation){misfire(jobs.MisfireAll), edited(300_000), at(610_001)},
			decision{action: skipTicks, tick: 240_000, count: 3, outcome: wire.Missed, reason: wire.ReasonEdited}},
		"edited a moment ago": {[]func(*situation){misfire(jobs.MisfireAll), edited(600_300), at(600_400)},
			decision{action: skipTicks, tick: 540_000, count: 8, outcome: wire.Missed, reason: wire.ReasonEdited}},
		"edited a moment ago, the newest": {[]func(*situation){misfire(jobs.MisfireAll), watermark(540_000), edited(600_300), at(600_400)},
			decision{action: waitUntil, at: 600_500}},
		"edited a moment ago, of a gap that is known": {[]func(*situation){caughtUp(100_000), edited(120_300), at(120_400)},
			decision{action: waitUntil, at: 120_500, caughtUp: 100_000}},
		"edited comes before skip": {[]func(*situation){misfire(jobs.MisfireSkip), edited(300_001), at(610_001)},
			decision{action: skipTicks, tick: 300_000, count: 4, outcome: wire.Missed, reason: wire.ReasonEdited}},
		"edited, and paused": {[]func(*situation){paused, edited(300_001), at(610_001)},
			decision{action: skipTicks, tick: 600_000, count: 9, outcome: wire.Skipped, reason: wire.ReasonPaused}},

		// The schedule before the edit had each second tick: 120 s, 240 s, ...
		"owed, due": {[]func(*situation){had(120_000), edited(120_001), at(120_002)},
			decision{action: claimTick, tick: 120_000, overlap: skip, latest: 130_000}},
		"owed, within the grace": {[]func(*situation){had(120_000), edited(125_000), at(130_000)},
			decision{action: claimTick, tick: 120_000, overlap: wait, latest: 130_000, caughtUp: 130_000}},
		"owed, past the grace": {[]func(*situation){had(120_000), edited(125_000), at(130_001)},
			decision{action: claimTick, tick: 120_000, overlap: wait, caughtUp: 130_001}},
		"owed, past the grace, skip": {[]func(*situation){had(120_000), misfire(jobs.MisfireSkip), edited(125_000), at(130_001)},
			decision{action: skipTicks, tick: 120_000, count: 1, outcome: wire.Missed, reason: wire.ReasonMisfire}},
		"owed, too old": {[]func(*situation){had(120_000), window(time.Minute), edited(300_001), at(310_000)},
			decision{action: skipTicks, tick: 240_000, count: 3, outcome: wire.Missed, reason: wire.ReasonTooOld}},
		"owed, by its jitter": {[]func(*situation){had(120_000), shifted(700), edited(120_701), at(120_702)},
			decision{action: claimTick, tick: 120_000, overlap: skip, latest: 130_700}},
		"owed, latest": {[]func(*situation){had(120_000), edited(610_000), at(610_001)},
			decision{action: skipTicks, tick: 480_000, count: 7, outcome: wire.Missed, reason: wire.ReasonMisfire, caughtUp: 610_001}},
		"owed, latest, the newest": {[]func(*situation){had(120_000), watermark(540_000), edited(610_000), at(610_001)},
			decision{action: claimTick, tick: 600_000, overlap: wait, caughtUp: 610_001}},
		"not owed, one of two": {[]func(*situation){had(120_000), watermark(120_000), misfire(jobs.MisfireAll), edited(610_000), at(610_001)},
			decision{action: skipTicks, tick: 180_000, count: 1, outcome: wire.Missed, reason: wire.ReasonEdited}},
		"not owed, too old": {[]func(*situation){had(120_000), watermark(120_000), window(time.Minute), edited(610_000), at(610_001)},
			decision{action: skipTicks, tick: 540_000, count: 7, outcome: wire.Missed, reason: wire.ReasonEdited}},
		"not owed, up to the next that is": {[]func(*situation){had(300_000), watermark(60_000), misfire(jobs.MisfireAll), edited(610_000), at(610_001)},
			decision{action: skipTicks, tick: 240_000, count: 3, outcome: wire.Missed, reason: wire.ReasonEdited}},
		"owed, all": {[]func(*situation){had(120_000), misfire(jobs.MisfireAll), most(2), edited(610_000), at(610_001)},
			decision{action: skipTicks, tick: 360_000, count: 5, outcome: wire.Missed, reason: wire.ReasonTooMany, caughtUp: 610_001}},
		"owed, queue, the newest of those that came while one waited": {
			[]func(*situation){had(120_000), queued, blocked(700_000), caughtUp(100_000), edited(595_000), at(595_001)},
			decision{action: skipTicks, tick: 420_000, count: 6, outcome: wire.Skipped, reason: wire.ReasonNewer, caughtUp: 100_000}},
		"came while one waited, overlap allowed": {[]func(*situation){overlapAllowed, blocked(130_000), at(120_000)},
			decision{action: claimTick, tick: 120_000, overlap: allow, latest: 130_000}},
	} {
		t.Run(name, func(t *testing.T) {
			got := situationOf(test.situation...).decide()
			got.backlog = nil
			require.Equal(t, test.want, got)
		})
	}
}

func TestSkippingAHugeGapStopsCounting(t *testing.T) {
	const jitter = 700
	s := situationOf(every(1000), shifted(jitter), policy(func(s *jobs.Spec) { s.Paused = true }))
	s.watermark, s.now = 0, int64(maxCounted)*1000+jitter
	d := s.decide()
	require.Equal(t, maxCounted, d.count)
	require.Equal(t, int64(maxCounted)*1000, d.tick, "the last that counts is the last that is due")

	s.now = 40 * 365 * 24 * 3600 * 1000 // a job that has been unknown for 40 years
	began := time.Now()
	d = s.decide()
	require.Less(t, time.Since(began), time.Second, "no tick is counted past maxCounted")
	require.Equal(t, maxCounted, d.count)
	require.LessOrEqual(t, s.due(d.tick), s.now, "nothing that is not due is passed over")
	s.watermark = d.tick
	rest := s.decide()
	require.LessOrEqual(t, rest.count, 1, "one step passes over it all, but for what the jitter may hide")
}

// TestBacklogIsNotWalkedAtEachPlan catches up the ticks of a day of seconds, one plan after
// another.
func TestBacklogIsNotWalkedAtEachPlan(t *testing.T) {
	const backlog, plans = 86_400, 100
	s := situationOf(every(1000), misfire(jobs.MisfireAll), policy(func(s *jobs.Spec) {
		s.CatchUpWindow, s.MaxCatchUp = 48*time.Hour, 10_000
	}))
	s.now = s.watermark + 1000*backlog + 999
	calls, next := 0, s.tickAfter
	s.tickAfter = func(after int64) int64 { calls++; return next(after) }
	for range plans {
		d := s.decide()
		require.NotEqual(t, doNothing, d.action)
		s.cursor = s.planned(d).advance(d.tick, s.tickAfter)
		s.now += 10
	}

	require.Less(t, calls, 2*(backlog+plans))
}
