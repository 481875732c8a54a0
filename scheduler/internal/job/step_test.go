package job

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/scheduler/internal/admission"
	"github.com/solotick/solotick/scheduler/internal/membership"
	"github.com/solotick/solotick/scheduler/internal/plan"
	"github.com/solotick/solotick/scheduler/internal/reports"
	"github.com/solotick/solotick/scheduler/internal/storehealth"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

const next = 1_800_000_000_000 // a whole minute

// replica is a replica that keeps what its jobs ask of it.
type replica struct {
	Replica
	asked    []int64 // watermarks
	reported []reports.Report
	syncs    int
	wait     time.Duration // before a takeover; below 0 if none is allowed
}

func newReplica() *replica {
	r := &replica{}
	r.Replica = Replica{
		ID: "self", TTL: 10 * time.Second, Peers: membership.NewPeers("self", time.Minute), MaxStep: 10 * time.Second,
		Reporting: 1500 * time.Millisecond, Answering: 2 * time.Second,
		Request: func() string { return "request" },
		Sync:    func() { r.syncs++ },
		Ask: func(_ string, watermark int64) reports.InquiryID {
			r.asked = append(r.asked, watermark)
			return reports.InquiryID{Asker: "self", Number: int64(len(r.asked))}
		},
		Report: func(report reports.Report, _ []string) { r.reported = append(r.reported, report) },
		Wait:   func(string, *storehealth.Failures) (time.Duration, bool) { return r.wait.Abs(), r.wait >= 0 },
	}
	return r
}

// newView returns what a replica knows of a job whose ticks are the whole minutes, all of which are
// decided before the tick next.
func newView(t *testing.T, options ...jobs.Option) (*View, *replica) {
	t.Helper()
	job, err := jobs.New("job", "* * * * *", func(context.Context, jobs.Run) error { return nil }, options...)
	require.NoError(t, err)
	r := newReplica()
	v := New(&r.Replica, new(plan.Common).Define(job), admission.NewRoom(admission.NewCapacity(1), &admission.Waiter{}))
	lost, skipped := v.Read(protocol.Record{Watermark: next - 1}, 1, next-1000)
	require.False(t, lost)
	require.Empty(t, skipped)
	return &v, r
}

func TestStateFollowsFromWhatIsKnown(t *testing.T) {
	for name, test := range map[string]struct {
		now    int64
		change func(v *View)
		want   Step
	}{
		"before its tick":           {next - 1, func(*View) {}, Step{State: Resting, At: next}},
		"due":                       {next, func(*View) {}, Step{State: Claiming, At: next}},
		"no further tick":           {next, func(v *View) { v.Cursor.Next = 0 }, Step{State: Idle}},
		"its record is not read":    {next, func(v *View) { v.Record.Forget() }, Step{State: Unread}},
		"it is read to confirm":     {next, func(v *View) { v.Confirm(next) }, Step{State: Unread}},
		"it is read meanwhile":      {next, func(v *View) { v.Record.Verify() }, Step{State: Claiming, At: next}},
		"it may have lost some":     {next, func(v *View) { v.ask(5, next) }, Step{State: Doubting, At: next + 2000}},
		"others have answered":      {next + 2000, func(v *View) { v.ask(5, next) }, Step{State: Confirming, At: 1}},
		"left to another":           {next, func(v *View) { v.Order.CountFrom(next + 7) }, Step{State: Deferring, At: next + 7}},
		"after a loss":              {next, func(v *View) { v.Rest.notBefore = next + 7 }, Step{State: Settling, At: next + 7}},
		"an earlier tick runs":      {next, func(v *View) { v.Rest.Until(Blocked, next+7) }, Step{State: Blocked, At: next + 7}},
		"no room":                   {next, func(v *View) { v.Rest.Until(Crowded, next+7) }, Step{State: Crowded, At: next + 7}},
		"no room, and now there is": {next + 7, func(v *View) { v.Rest.Until(Crowded, next+7) }, Step{State: Claiming, At: next + 7}},
		"a request is pending":      {next, func(v *View) { v.Pending = new(Request) }, Step{State: Retrying, At: 1}},
		"it has failed": {next, func(v *View) {
			v.Pending = new(Request)
			v.Rest.Until(Retrying, next+7)
		}, Step{State: Retrying, At: next + 7}},
		"another replica runs one": {next - 9, func(v *View) { v.Open.Set(Look{tick: 5, at: next - 2}) }, Step{State: Watching, At: next - 2, Watch: next - 2}},
		"until after the next":     {next - 9, func(v *View) { v.Open.Set(Look{tick: 5, at: next + 2}) }, Step{State: Resting, At: next, Watch: next + 2}},
		"its lease has run out": {next, func(v *View) {
			v.Open = Looks{{tick: 5, at: next}, {tick: 6, at: next - 1}}
		}, Step{State: TakingOver, At: next, Tick: 5, Watch: next}},
		"there may be room for it": {next - 9, func(v *View) {
			v.Open.Set(Look{tick: 5, at: next + 2, short: true})
		}, Step{State: TakingOver, At: next - 9, Tick: 5, Watch: next + 2}},
		"reported to be decided": {next, func(v *View) { v.Hints.report(next, v.Cursor.Watermark, next) }, Step{State: Confirming, At: 1}},
		"reported to be settled": {next - 9, func(v *View) { v.Doubt.reportSettled(5) }, Step{State: Confirming, At: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			v, _ := newView(t)
			test.change(v)
			got := v.Step(test.now)
			require.Equal(t, test.want.State.String(), got.State.String())
			require.Equal(t, test.want, got)
		})
	}
}

func TestEveryStateHasAName(t *testing.T) {
	require.Len(t, stateNames, int(TakingOver)+1)
	require.Equal(t, "state -1", State(-1).String())
	require.Equal(t, "state 99", State(99).String())
}

func TestDurationsRoundUpToMilliseconds(t *testing.T) {
	require.EqualValues(t, 0, ms(0))
	require.EqualValues(t, 1, ms(1))
	require.EqualValues(t, 1, ms(time.Millisecond))
	require.EqualValues(t, 2, ms(time.Millisecond+1))
}
