package notify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/lease"
)

// history makes settled ticks, one a minute, of outcomes by their first letters.
func history(outcomes string) (list []fleet.Entry) {
	names := map[rune]lease.Outcome{'s': "succeeded", 'f': "failed", 'l': "lost", 'm': "missed", 'k': "skipped", 'c': "cancelled", 'r': "replaced"}
	for i, c := range outcomes {
		at := tick.Add(time.Duration(i) * time.Minute)
		list = append(list, fleet.Entry{Job: "report", Scheduled: at, SettledAt: at.Add(time.Second), State: wire.StateSettled, Outcome: names[c], Error: "e"})
	}
	return list
}

// said is what a receiver gets, in a few letters: condition, the one before and the tick's number.
func said(changes []change) string {
	words := make([]string, len(changes))
	for i, c := range changes {
		words[i] = fmt.Sprintf("%s<%s@%d", c.Condition, c.Was, int(c.Tick.Sub(tick).Minutes()))
	}
	return strings.Join(words, " ")
}

func TestChangesOfOutcomesAreEachSent(t *testing.T) {
	for _, test := range []struct {
		outcomes string
		after    int
		want     string
	}{
		{"", 1, ""},
		{"sssss", 1, ""},
		{"sfffs", 1, "failed<ok@1 ok<failed@4"},
		{"fflmss", 1, "failed<ok@0 lost<failed@2 missed<lost@3 ok<missed@4"},
		{"fsfs", 1, "failed<ok@0 ok<failed@1 failed<ok@2 ok<failed@3"},
		{"kfkcrks", 1, "failed<ok@1 ok<failed@6"},
		{"fsffsfff", 3, "failed<ok@7"},
		{"ffkfs", 3, "failed<ok@3 ok<failed@4"},
		{"flfmss", 3, "failed<ok@2 missed<failed@3 ok<missed@4"},
		{"f", 0, "failed<ok@0"},
	} {
		require.Equal(t, test.want, said(reached{}.changes("n", history(test.outcomes), 0, test.after, state{}, "report")), "%s after %d", test.outcomes, test.after)
	}
}

// Whatever was recorded, the rest follows from there, and under the same ids.
func TestEachChangeFollowsFromTheOneBefore(t *testing.T) {
	for _, outcomes := range []string{"fsfsfs", "fflmssfk", "slmfskkfs"} {
		for after := 1; after <= 2; after++ {
			all := reached{}.changes("n", history(outcomes), 0, after, state{}, "report")
			for i, c := range all {
				rest := c.then.changes("n", history(outcomes), 0, after, state{}, "report")
				require.Equal(t, append([]change(nil), all[i+1:]...), rest, "%s after %d from %d", outcomes, after, i)
			}
		}
	}
}

func TestTicksSettledAtOneInstantAreEachSeen(t *testing.T) {
	list := history("fsf")
	for i := range list {
		list[i].SettledAt = tick
	}
	all := reached{}.changes("n", list, 0, 1, state{}, "report")
	require.Len(t, all, 3)
	require.Equal(t, "failed<ok@2", said(all[1].then.changes("n", list, 0, 1, state{}, "report")))
}

// The place of a tick in the history counts, and not its time.
func TestAClockThatGoesBackHidesNothing(t *testing.T) {
	list := history("fsfs")
	for i := 2; i < 4; i++ {
		list[i].SettledAt = list[i].SettledAt.Add(-time.Hour)
	}
	first := reached{}.changes("n", list[:2], 0, 1, state{}, "report")
	require.Equal(t, "failed<ok@2 ok<failed@3", said(first[1].then.changes("n", list, 0, 1, state{}, "report")))
}

func TestOutcomesBeforeTheReceiverAreNotSent(t *testing.T) {
	list := history("fffss")
	require.Empty(t, reached{}.changes("n", list, list[2].SettledAt.UnixMicro(), 1, state{}, "report"))
}

func TestAHistoryThatIsShorterIsTakenAsItIs(t *testing.T) {
	list := history("fsfsff")
	first := reached{}.changes("n", list, 0, 1, state{}, "report")[0]
	require.Equal(t, "ok<failed@3 failed<ok@4", said(first.then.changes("n", list[3:], 0, 1, state{}, "report")))
}

func TestOldChangesAreLeftOutAndCounted(t *testing.T) {
	all := reached{}.changes("n", history(strings.Repeat("fs", 20)), 0, 1, state{}, "report")
	require.Len(t, all, maxChanges)
	require.Equal(t, 40-maxChanges, all[0].Omitted)
	require.Zero(t, all[1].Omitted)
	require.Equal(t, OK, all[maxChanges-1].Condition)
	require.Len(t, all[0].then.changes("n", history(strings.Repeat("fs", 20)), 0, 1, state{}, "report"), maxChanges-1)
}

func TestStatesAreSentWhenTheyBeginAndEnd(t *testing.T) {
	late, settled := tick.UnixMilli(), tick.Add(-time.Minute).UnixMilli()
	var r reached
	var ids []string
	for _, step := range []struct {
		now  state
		want string
	}{
		{state{}, ""},
		{state{overdue: &late}, "overdue<ok@0"},
		{state{overdue: &late, unserved: &settled}, "unserved<ok@-1"},
		{state{overdue: &late}, "ok<unserved@-1"},
		{state{}, "ok<overdue@0"},
		{state{overdue: &late}, "overdue<ok@0"},
		{state{}, "ok<overdue@0"},
	} {
		changes := r.changes("n", nil, 0, 1, step.now, "report")
		require.Equal(t, step.want, said(changes))
		for _, c := range changes {
			require.NotContains(t, ids, c.ID, "it happens again, and no receiver drops it")
			ids, r = append(ids, c.ID), c.then
		}
		require.Empty(t, r.changes("n", nil, 0, 1, step.now, "report"))
	}
}

func TestIdsDependOnWhatHappenedOnly(t *testing.T) {
	a, b := failure(), failure()
	b.Replica, b.Error, b.At, b.Ticks, b.Was = "other", "", tick, 1, Lost
	require.Equal(t, a.ID, b.identify(0).ID)
	require.Equal(t, a.Incident, recovery().Incident)
	var ids []string
	for _, change := range []func(*Notification){
		func(*Notification) {}, func(n *Notification) { n.Namespace = "x" }, func(n *Notification) { n.Job = "x" }, func(n *Notification) { n.Condition = Lost },
		func(n *Notification) { n.Tick = n.Tick.Add(time.Millisecond) }, func(n *Notification) { n.Condition = Overdue },
		func(n *Notification) { n.Namespace, n.Job = "billing.report", "x" },
	} {
		n := failure()
		change(&n)
		ids = append(ids, n.identify(0).ID)
	}
	slices.Sort(ids)
	require.Len(t, slices.Compact(ids), 7)
}

func TestMissedTicksOfAnOldScheduleSayNothing(t *testing.T) {
	for reason, want := range map[string]Condition{"misfire": Missed, "too_old": Missed, "edited": "", "past": ""} {
		require.Equal(t, want, outcomeOf(fleet.Entry{Outcome: "missed", Reason: reason}))
	}
}
