package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// every returns the ticks at the multiples of a period in ms, without jitter.
func every(period int64) func(*Situation) {
	return func(s *Situation) {
		s.TickAfter = func(after int64) int64 { return (after/period + 1) * period }
		s.Due = func(tick int64) int64 { return tick }
	}
}

// shifted makes every tick due so much later.
func shifted(jitter int64) func(*Situation) {
	return func(s *Situation) {
		s.Spec.Jitter = time.Duration(jitter) * time.Millisecond
		s.Due = func(tick int64) int64 { return tick + jitter }
	}
}

func policy(f func(*jobs.Spec)) func(*Situation) { return func(s *Situation) { f(s.Spec) } }

func misfire(m jobs.Misfire) func(*Situation) { return policy(func(s *jobs.Spec) { s.Misfire = m }) }

func situationOf(changes ...func(*Situation)) Situation {
	spec := jobs.Defaults() // forbid, latest, a grace of 10 s, a window of 1 h, 100 at most
	s := Situation{Policies: &Policies{Spec: &spec}, Cursor: Cursor{Watermark: 60_000}}
	every(60_000)(&s)
	for _, change := range changes {
		change(&s)
	}
	return s
}

// decide is plan where the cursor may have no next tick yet.
func (s Situation) decide() Decision {
	s.Cursor.Next = s.TickAfter(s.Watermark)
	return Decide(s)
}

func TestPlanDecidesAsItsCommentSays(t *testing.T) {
	const allow, skip, wait = protocol.OverlapAllow, protocol.OverlapSkip, protocol.OverlapWait
	const queue, replace = protocol.OverlapQueue, protocol.OverlapReplace
	queued := policy(func(s *jobs.Spec) { s.Overlap = jobs.Queue })
	replacing := policy(func(s *jobs.Spec) { s.Overlap = jobs.Replace })
	edited := func(t int64) func(*Situation) { return func(s *Situation) { s.Edited = t } }
	had := func(period int64) func(*Situation) {
		return func(s *Situation) { s.Had = func(tick int64) bool { return tick%period == 0 } }
	}
	settling := func(s *Situation) { s.Settling = true }
	overlapAllowed := policy(func(s *jobs.Spec) { s.Overlap = jobs.Allow })
	paused := policy(func(s *jobs.Spec) { s.Paused = true })
	grace := func(d time.Duration) func(*Situation) { return policy(func(s *jobs.Spec) { s.MisfireGrace = d }) }
	window := func(d time.Duration) func(*Situation) { return policy(func(s *jobs.Spec) { s.CatchUpWindow = d }) }
	most := func(n int) func(*Situation) { return policy(func(s *jobs.Spec) { s.MaxCatchUp = n }) }
	at := func(now int64) func(*Situation) { return func(s *Situation) { s.Now = now } }
	watermark := func(m int64) func(*Situation) { return func(s *Situation) { s.Watermark = m } }
	caughtUp := func(t int64) func(*Situation) { return func(s *Situation) { s.caughtUp = t } }
	blocked := func(t int64) func(*Situation) { return func(s *Situation) { s.Blocked = t } }
	// The tick of the first rows is at 120 s, and those after it a minute each.
	for name, test := range map[string]struct {
		situation []func(*Situation)
		want      Decision
	}{
		"not due":      {[]func(*Situation){at(119_999)}, Decision{}},
		"no tick left": {[]func(*Situation){at(1 << 50), func(s *Situation) { s.TickAfter = func(int64) int64 { return 0 } }}, Decision{}},
		"due": {[]func(*Situation){at(120_000)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: skip, Latest: 130_000}},
		"not due by its jitter": {[]func(*Situation){shifted(700), at(120_699)}, Decision{}},
		"due by its jitter": {[]func(*Situation){shifted(700), at(120_700)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: skip, Latest: 130_700}},

		"prompt to the last": {[]func(*Situation){at(120_500)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: skip, Latest: 130_000}},
		"prompt, overlap allowed": {[]func(*Situation){overlapAllowed, at(120_500)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: allow, Latest: 130_000}},
		"prompt, of a gap that is known": {[]func(*Situation){caughtUp(120_000), at(120_100)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, Latest: 130_000, caughtUp: 120_000}},
		"prompt under every misfire policy": {[]func(*Situation){misfire(jobs.MisfireSkip), at(120_000)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: skip, Latest: 130_000}},
		"no longer prompt": {[]func(*Situation){at(120_501)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, Latest: 130_000, caughtUp: 120_501}},
		"no longer prompt, overlap allowed": {[]func(*Situation){overlapAllowed, at(120_501)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: allow, Latest: 130_000, caughtUp: 120_501}},
		"no longer prompt, of a gap that is known": {[]func(*Situation){caughtUp(125_000), at(126_000)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, Latest: 130_000, caughtUp: 125_000}},

		"within the grace to the last": {[]func(*Situation){misfire(jobs.MisfireSkip), at(130_000)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, Latest: 130_000, caughtUp: 130_000}},
		"past the grace, skip": {[]func(*Situation){misfire(jobs.MisfireSkip), at(130_001)},
			Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Missed, Reason: wire.ReasonMisfire}},
		"past the grace, latest": {[]func(*Situation){at(130_001)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, caughtUp: 130_001}},
		"past the grace, all": {[]func(*Situation){misfire(jobs.MisfireAll), at(130_001)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, caughtUp: 130_001}},
		"past the grace, overlap allowed": {[]func(*Situation){overlapAllowed, at(130_001)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: allow, caughtUp: 130_001}},
		"the grace counts from the jitter": {[]func(*Situation){misfire(jobs.MisfireSkip), shifted(700), at(130_700)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, Latest: 130_700, caughtUp: 130_700}},
		"past that": {[]func(*Situation){misfire(jobs.MisfireSkip), shifted(700), at(130_701)},
			Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Missed, Reason: wire.ReasonMisfire}},
		"no grace is a second": {[]func(*Situation){misfire(jobs.MisfireSkip), grace(0), at(121_000)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, Latest: 121_000, caughtUp: 121_000}},
		"and not more": {[]func(*Situation){misfire(jobs.MisfireSkip), grace(0), at(121_001)},
			Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Missed, Reason: wire.ReasonMisfire}},

		// From 120 s to 600 s there are nine ticks.
		"skip leaves what is within the grace": {[]func(*Situation){misfire(jobs.MisfireSkip), at(610_000)},
			Decision{Action: SkipTicks, Tick: 540_000, Count: 8, Outcome: wire.Missed, Reason: wire.ReasonMisfire}},
		"skip": {[]func(*Situation){misfire(jobs.MisfireSkip), at(610_001)},
			Decision{Action: SkipTicks, Tick: 600_000, Count: 9, Outcome: wire.Missed, Reason: wire.ReasonMisfire}},
		"latest leaves the newest that is past the grace": {[]func(*Situation){at(610_000)},
			Decision{Action: SkipTicks, Tick: 480_000, Count: 7, Outcome: wire.Missed, Reason: wire.ReasonMisfire, caughtUp: 610_000}},
		"latest": {[]func(*Situation){at(610_001)},
			Decision{Action: SkipTicks, Tick: 540_000, Count: 8, Outcome: wire.Missed, Reason: wire.ReasonMisfire, caughtUp: 610_001}},
		"latest, the newest": {[]func(*Situation){watermark(540_000), at(610_001)},
			Decision{Action: ClaimTick, Tick: 600_000, Overlap: wait, caughtUp: 610_001}},
		"latest of a known gap, whatever came since": {[]func(*Situation){watermark(540_000), caughtUp(610_001), at(3_000_000)},
			Decision{Action: ClaimTick, Tick: 600_000, Overlap: wait, caughtUp: 610_001}},
		"latest, but none at most": {[]func(*Situation){most(0), at(610_001)},
			Decision{Action: SkipTicks, Tick: 600_000, Count: 9, Outcome: wire.Missed, Reason: wire.ReasonMisfire, caughtUp: 610_001}},
		"all": {[]func(*Situation){misfire(jobs.MisfireAll), at(610_001)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, caughtUp: 610_001}},
		"all, as many as may": {[]func(*Situation){misfire(jobs.MisfireAll), most(9), at(610_001)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, caughtUp: 610_001}},
		"all, one too many": {[]func(*Situation){misfire(jobs.MisfireAll), most(8), at(610_001)},
			Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Missed, Reason: wire.ReasonTooMany, caughtUp: 610_001}},
		"all, but none at most": {[]func(*Situation){misfire(jobs.MisfireAll), most(0), at(610_001)},
			Decision{Action: SkipTicks, Tick: 600_000, Count: 9, Outcome: wire.Missed, Reason: wire.ReasonTooMany, caughtUp: 610_001}},

		"in the window to the last": {[]func(*Situation){window(5 * time.Minute), misfire(jobs.MisfireAll), at(420_000)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, caughtUp: 420_000}},
		"older than the window": {[]func(*Situation){window(5 * time.Minute), misfire(jobs.MisfireAll), at(420_001)},
			Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Missed, Reason: wire.ReasonTooOld}},
		"older than the window, several": {[]func(*Situation){window(5 * time.Minute), at(610_001)},
			Decision{Action: SkipTicks, Tick: 300_000, Count: 4, Outcome: wire.Missed, Reason: wire.ReasonTooOld}},
		"no window leaves what is within the grace": {[]func(*Situation){window(0), misfire(jobs.MisfireAll), at(610_000)},
			Decision{Action: SkipTicks, Tick: 540_000, Count: 8, Outcome: wire.Missed, Reason: wire.ReasonTooOld}},
		"no window, within the grace": {[]func(*Situation){window(0), watermark(540_000), at(610_000)},
			Decision{Action: ClaimTick, Tick: 600_000, Overlap: wait, Latest: 610_000, caughtUp: 610_000}},

		"paused": {[]func(*Situation){paused, at(120_000)},
			Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Skipped, Reason: wire.ReasonPaused}},
		"paused for long": {[]func(*Situation){paused, at(610_001)},
			Decision{Action: SkipTicks, Tick: 600_000, Count: 9, Outcome: wire.Skipped, Reason: wire.ReasonPaused}},
		"paused, not due": {[]func(*Situation){paused, at(119_999)}, Decision{}},

		"came while one waited for its turn": {[]func(*Situation){blocked(130_000), caughtUp(100_000), at(130_000)},
			Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Skipped, Reason: wire.ReasonOverlap, caughtUp: 100_000}},
		"came at the last moment of that": {[]func(*Situation){blocked(120_000), at(130_000)},
			Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Skipped, Reason: wire.ReasonOverlap}},
		"came while one waited, a moment ago": {[]func(*Situation){blocked(120_000), at(120_500)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, Latest: 130_000}},
		"and a moment later": {[]func(*Situation){blocked(120_000), at(120_501)},
			Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Skipped, Reason: wire.ReasonOverlap}},
		"came while several waited, the last a moment ago": {[]func(*Situation){blocked(600_000), at(600_100)},
			Decision{Action: SkipTicks, Tick: 540_000, Count: 8, Outcome: wire.Skipped, Reason: wire.ReasonOverlap}},
		"came after that": {[]func(*Situation){blocked(119_999), at(120_000)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: skip, Latest: 130_000}},
		"came while one waited, late or not": {[]func(*Situation){blocked(500_000), at(610_001)},
			Decision{Action: SkipTicks, Tick: 480_000, Count: 7, Outcome: wire.Skipped, Reason: wire.ReasonOverlap}},
		"is being caught up itself": {[]func(*Situation){blocked(130_000), caughtUp(120_000), at(130_000)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, Latest: 130_000, caughtUp: 120_000}},
		"queue, due":                     {[]func(*Situation){queued, at(120_000)}, Decision{Action: ClaimTick, Tick: 120_000, Overlap: queue, Latest: 130_000}},
		"queue, prompt to the last":      {[]func(*Situation){queued, at(120_500)}, Decision{Action: ClaimTick, Tick: 120_000, Overlap: queue, Latest: 130_000}},
		"queue, after trouble":           {[]func(*Situation){queued, settling, at(120_000)}, Decision{Action: ClaimTick, Tick: 120_000, Overlap: queue, Latest: 130_000}},
		"queue, came while one waited":   {[]func(*Situation){queued, blocked(130_000), at(120_000)}, Decision{Action: ClaimTick, Tick: 120_000, Overlap: queue, Latest: 130_000}},
		"queue, no longer prompt":        {[]func(*Situation){queued, at(120_501)}, Decision{Action: ClaimTick, Tick: 120_000, Overlap: queue, Latest: 130_000}},
		"queue, of a gap that is known":  {[]func(*Situation){queued, caughtUp(120_000), at(120_100)}, Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, Latest: 130_000, caughtUp: 120_000}},
		"queue, past the grace":          {[]func(*Situation){queued, at(130_001)}, Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, caughtUp: 130_001}},
		"queue, past the grace, skip":    {[]func(*Situation){queued, misfire(jobs.MisfireSkip), at(130_001)}, Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Missed, Reason: wire.ReasonMisfire}},
		"queue, paused":                  {[]func(*Situation){queued, paused, at(120_000)}, Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Skipped, Reason: wire.ReasonPaused}},
		"replace, due":                   {[]func(*Situation){replacing, at(120_000)}, Decision{Action: ClaimTick, Tick: 120_000, Overlap: replace, Latest: 130_000}},
		"replace, after trouble":         {[]func(*Situation){replacing, settling, at(120_000)}, Decision{Action: ClaimTick, Tick: 120_000, Overlap: replace, Latest: 130_000}},
		"replace, came while one waited": {[]func(*Situation){replacing, blocked(130_000), at(120_000)}, Decision{Action: ClaimTick, Tick: 120_000, Overlap: replace, Latest: 130_000}},
		"replace, no longer prompt":      {[]func(*Situation){replacing, at(120_501)}, Decision{Action: ClaimTick, Tick: 120_000, Overlap: replace, Latest: 130_000, caughtUp: 120_501}},
		"replace, past the grace":        {[]func(*Situation){replacing, at(130_001)}, Decision{Action: ClaimTick, Tick: 120_000, Overlap: replace, caughtUp: 130_001}},
		"replace, all":                   {[]func(*Situation){replacing, misfire(jobs.MisfireAll), at(610_001)}, Decision{Action: SkipTicks, Tick: 540_000, Count: 8, Outcome: wire.Missed, Reason: wire.ReasonMisfire, caughtUp: 610_001}},
		"queue, came while one waited that was caught up": {[]func(*Situation){queued, blocked(130_000), caughtUp(100_000), at(125_000)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: queue, Latest: 130_000, caughtUp: 100_000}},
		"queue, the newest of those that came while one waited": {[]func(*Situation){queued, watermark(540_000), blocked(700_000), caughtUp(100_000), at(610_001)},
			Decision{Action: ClaimTick, Tick: 600_000, Overlap: queue, caughtUp: 100_000}},
		"queue, several came while one waited": {[]func(*Situation){queued, blocked(700_000), caughtUp(100_000), at(610_001)},
			Decision{Action: SkipTicks, Tick: 540_000, Count: 8, Outcome: wire.Skipped, Reason: wire.ReasonNewer, caughtUp: 100_000}},
		"forbid, after trouble": {[]func(*Situation){settling, at(120_000)}, Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, Latest: 130_000}},
		"edited before it":      {[]func(*Situation){edited(120_000), at(130_001)}, Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, caughtUp: 130_001}},
		"edited after it":       {[]func(*Situation){edited(120_001), at(130_001)}, Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Missed, Reason: wire.ReasonEdited}},
		"edited after it, within the grace": {[]func(*Situation){edited(125_000), at(130_000)},
			Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Missed, Reason: wire.ReasonEdited}},
		"edited right after it, left for a moment": {[]func(*Situation){edited(120_400), at(120_499)}, Decision{Action: WaitUntil, At: 120_500}},
		"edited right after it, and no longer": {[]func(*Situation){edited(120_400), at(120_500)},
			Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Missed, Reason: wire.ReasonEdited}},
		"edited after its jitter":  {[]func(*Situation){shifted(700), edited(120_701), at(200_000)}, Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Missed, Reason: wire.ReasonEdited}},
		"edited before its jitter": {[]func(*Situation){shifted(700), edited(120_700), at(179_000)}, Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, caughtUp: 179_000}},
		"edited after several": {[]func(*Situation){misfire(jobs.MisfireAll), edited(300_001), at(610_001)},
			Decision{Action: SkipTicks, Tick: 300_000, Count: 4, Outcome: wire.Missed, Reason: wire.ReasonEdited}},
		"edited at one of several": {[]func(*Situation){misfire(jobs.MisfireAll), edited(300_000), at(610_001)},
			Decision{Action: SkipTicks, Tick: 240_000, Count: 3, Outcome: wire.Missed, Reason: wire.ReasonEdited}},
		"edited a moment ago": {[]func(*Situation){misfire(jobs.MisfireAll), edited(600_300), at(600_400)},
			Decision{Action: SkipTicks, Tick: 540_000, Count: 8, Outcome: wire.Missed, Reason: wire.ReasonEdited}},
		"edited a moment ago, the newest": {[]func(*Situation){misfire(jobs.MisfireAll), watermark(540_000), edited(600_300), at(600_400)},
			Decision{Action: WaitUntil, At: 600_500}},
		"edited a moment ago, of a gap that is known": {[]func(*Situation){caughtUp(100_000), edited(120_300), at(120_400)},
			Decision{Action: WaitUntil, At: 120_500, caughtUp: 100_000}},
		"edited comes before skip": {[]func(*Situation){misfire(jobs.MisfireSkip), edited(300_001), at(610_001)},
			Decision{Action: SkipTicks, Tick: 300_000, Count: 4, Outcome: wire.Missed, Reason: wire.ReasonEdited}},
		"edited, and paused": {[]func(*Situation){paused, edited(300_001), at(610_001)},
			Decision{Action: SkipTicks, Tick: 600_000, Count: 9, Outcome: wire.Skipped, Reason: wire.ReasonPaused}},

		// The schedule before the edit had each second tick: 120 s, 240 s, ...
		"owed, due": {[]func(*Situation){had(120_000), edited(120_001), at(120_002)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: skip, Latest: 130_000}},
		"owed, within the grace": {[]func(*Situation){had(120_000), edited(125_000), at(130_000)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, Latest: 130_000, caughtUp: 130_000}},
		"owed, past the grace": {[]func(*Situation){had(120_000), edited(125_000), at(130_001)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: wait, caughtUp: 130_001}},
		"owed, past the grace, skip": {[]func(*Situation){had(120_000), misfire(jobs.MisfireSkip), edited(125_000), at(130_001)},
			Decision{Action: SkipTicks, Tick: 120_000, Count: 1, Outcome: wire.Missed, Reason: wire.ReasonMisfire}},
		"owed, too old": {[]func(*Situation){had(120_000), window(time.Minute), edited(300_001), at(310_000)},
			Decision{Action: SkipTicks, Tick: 240_000, Count: 3, Outcome: wire.Missed, Reason: wire.ReasonTooOld}},
		"owed, by its jitter": {[]func(*Situation){had(120_000), shifted(700), edited(120_701), at(120_702)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: skip, Latest: 130_700}},
		"owed, latest": {[]func(*Situation){had(120_000), edited(610_000), at(610_001)},
			Decision{Action: SkipTicks, Tick: 480_000, Count: 7, Outcome: wire.Missed, Reason: wire.ReasonMisfire, caughtUp: 610_001}},
		"owed, latest, the newest": {[]func(*Situation){had(120_000), watermark(540_000), edited(610_000), at(610_001)},
			Decision{Action: ClaimTick, Tick: 600_000, Overlap: wait, caughtUp: 610_001}},
		"not owed, one of two": {[]func(*Situation){had(120_000), watermark(120_000), misfire(jobs.MisfireAll), edited(610_000), at(610_001)},
			Decision{Action: SkipTicks, Tick: 180_000, Count: 1, Outcome: wire.Missed, Reason: wire.ReasonEdited}},
		"not owed, too old": {[]func(*Situation){had(120_000), watermark(120_000), window(time.Minute), edited(610_000), at(610_001)},
			Decision{Action: SkipTicks, Tick: 540_000, Count: 7, Outcome: wire.Missed, Reason: wire.ReasonEdited}},
		"not owed, up to the next that is": {[]func(*Situation){had(300_000), watermark(60_000), misfire(jobs.MisfireAll), edited(610_000), at(610_001)},
			Decision{Action: SkipTicks, Tick: 240_000, Count: 3, Outcome: wire.Missed, Reason: wire.ReasonEdited}},
		"owed, all": {[]func(*Situation){had(120_000), misfire(jobs.MisfireAll), most(2), edited(610_000), at(610_001)},
			Decision{Action: SkipTicks, Tick: 360_000, Count: 5, Outcome: wire.Missed, Reason: wire.ReasonTooMany, caughtUp: 610_001}},
		"owed, queue, the newest of those that came while one waited": {
			[]func(*Situation){had(120_000), queued, blocked(700_000), caughtUp(100_000), edited(595_000), at(595_001)},
			Decision{Action: SkipTicks, Tick: 420_000, Count: 6, Outcome: wire.Skipped, Reason: wire.ReasonNewer, caughtUp: 100_000}},
		"came while one waited, overlap allowed": {[]func(*Situation){overlapAllowed, blocked(130_000), at(120_000)},
			Decision{Action: ClaimTick, Tick: 120_000, Overlap: allow, Latest: 130_000}},
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
	s.Watermark, s.Now = 0, int64(maxCounted)*1000+jitter
	d := s.decide()
	require.Equal(t, maxCounted, d.Count)
	require.Equal(t, int64(maxCounted)*1000, d.Tick, "the last that counts is the last that is due")

	s.Now = 40 * 365 * 24 * 3600 * 1000 // a job that has been unknown for 40 years
	began := time.Now()
	d = s.decide()
	require.Less(t, time.Since(began), time.Second, "no tick is counted past maxCounted")
	require.Equal(t, maxCounted, d.Count)
	require.LessOrEqual(t, s.Due(d.Tick), s.Now, "nothing that is not due is passed over")
	s.Watermark = d.Tick
	rest := s.decide()
	require.LessOrEqual(t, rest.Count, 1, "one step passes over it all, but for what the jitter may hide")
}

// TestBacklogIsNotWalkedAtEachPlan catches up the ticks of a day of seconds, one plan after
// another.
func TestBacklogIsNotWalkedAtEachPlan(t *testing.T) {
	const backlog, plans = 86_400, 100
	s := situationOf(every(1000), misfire(jobs.MisfireAll), policy(func(s *jobs.Spec) {
		s.CatchUpWindow, s.MaxCatchUp = 48*time.Hour, 10_000
	}))
	s.Now = s.Watermark + 1000*backlog + 999
	calls, next := 0, s.TickAfter
	s.TickAfter = func(after int64) int64 { calls++; return next(after) }
	for range plans {
		d := s.decide()
		require.NotEqual(t, DoNothing, d.Action)
		s.Cursor = s.Planned(d).Advance(d.Tick, s.TickAfter)
		s.Now += 10
	}

	require.Less(t, calls, 2*(backlog+plans))
}
