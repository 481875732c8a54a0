package clock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/heartbeat"
)

// trusted is a trust in a clock at offset 0, with leases of 15 s.
func trusted(t *testing.T) *Trust {
	c := NewTrust(15 * time.Second)
	require.True(t, c.Begin(0, 0, true, MemberClocks{}))
	require.False(t, c.Holds())
	return c
}

func TestStepsOfMoreThanTheLimitAreHeld(t *testing.T) {
	const ttl = 15 * time.Second
	for name, c := range map[string]struct {
		step, slack time.Duration
		want        Verdict
		quiet       bool
	}{
		"none":                       {0, 0, IsPlausible, false},
		"a little":                   {time.Second, 0, IsPlausible, false},
		"a third of the TTL":         {ttl / 3, 0, IsPlausible, false},
		"more forward":               {ttl/3 + time.Second, 0, IsPlausible, true},
		"more, but not for certain":  {ttl/3 + time.Second, time.Second, IsPlausible, false},
		"more back":                  {-ttl/3 - time.Second, 0, IsPlausible, false},
		"the TTL":                    {ttl, 0, IsPlausible, true},
		"forward":                    {ttl + 1, 0, HasStepped, false},
		"back":                       {-ttl - 1, 0, HasStepped, false},
		"a slow answer says little":  {ttl + time.Second, time.Second, IsPlausible, false},
		"a year, with a slow answer": {365 * 24 * time.Hour, 10 * time.Second, HasStepped, false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := trusted(t)
			wantQuiet := time.Duration(0)
			if c.quiet {
				wantQuiet = ttl
			}
			require.Equal(t, c.want, clock.Look(time.Minute, c.step, c.slack, 0))
			require.Equal(t, c.want == HasStepped, clock.Holds())
			if c.slack == 0 {
				require.Equal(t, wantQuiet, clock.QuietFor(time.Minute))
			}
		})
	}
	require.Equal(t, 5*time.Second, Limit(100*time.Millisecond))
	require.Equal(t, time.Hour, Limit(time.Hour))
}

func TestClockThatIsBackIsTrustedAtOnce(t *testing.T) {
	c := trusted(t)
	require.Equal(t, HasStepped, c.Look(time.Minute, 8*time.Hour, 0, 0))
	require.Equal(t, IsHeld, c.Look(time.Minute+1, 8*time.Hour, 0, 0))
	require.Equal(t, 8*time.Hour, c.View(time.Minute+1, 0).By)
	require.Equal(t, IsHeld, c.Look(time.Minute+2, 0, 2*time.Second, 0), "so slow that it says nothing")
	require.Equal(t, HasReturned, c.Look(time.Minute+3, time.Second, 0, 0))
	require.False(t, c.Holds())
	require.Equal(t, 15*time.Second, c.QuietFor(time.Minute+3), "but holders renew first")
	require.Zero(t, c.QuietFor(2*time.Minute))
}

func TestSteadyClockIsAcceptedByAllTogether(t *testing.T) {
	var at time.Duration // of the replica's own clock
	rebased := time.Duration(0)
	rebase := func(offset time.Duration) { rebased = offset }
	all, notAll := MemberClocks{steady: true}, MemberClocks{vouched: true}
	c := trusted(t)
	c.Look(at, time.Hour, 0, 0)
	for at = time.Second; at < 15*time.Second; at += time.Second {
		require.Equal(t, IsHeld, c.Look(at, time.Hour+time.Second, 0, 0))
		require.False(t, c.Accept(at, all, rebase))
	}
	require.Equal(t, HasStepped, c.Look(at, 2*time.Hour, 0, 0), "again")
	require.False(t, c.Accept(at+time.Second, all, rebase))
	require.Equal(t, IsHeld, c.Look(at+2*time.Second, 2*time.Hour+2*time.Second, 0, 0), "a little: it is not steady yet")
	at += 2 * time.Second
	require.False(t, c.Accept(at+15*time.Second-1, all, rebase))
	require.False(t, c.Accept(at+15*time.Second, notAll, rebase), "a member that trusts it has not seen what it was")
	require.True(t, c.Accept(at+15*time.Second, all, rebase))
	require.Equal(t, 2*time.Hour+2*time.Second, rebased)
	require.False(t, c.Holds())
	require.False(t, c.Accept(at+16*time.Second, all, rebase), "it is trusted already")
}

func TestNothingIsTakenOverAfterAcceptingAClock(t *testing.T) {
	const ttl = 15 * time.Second
	doubted := func(*testing.T) *Trust {
		c := NewTrust(ttl)
		c.Begin(0, time.Hour, false, MemberClocks{})
		return c
	}
	stepped := func(t *testing.T) *Trust {
		c := trusted(t)
		c.Look(0, time.Hour, 0, 0)
		return c
	}
	for name, test := range map[string]struct {
		clock    func(*testing.T) *Trust
		members  MemberClocks
		accepted bool
	}{
		"it has stepped and is steady":               {stepped, MemberClocks{steady: true}, true},
		"it has stepped and is not steady for all":   {stepped, MemberClocks{}, false},
		"a replica that starts has seen it steady":   {doubted, MemberClocks{steady: true}, true},
		"a member vouches for a replica that starts": {doubted, MemberClocks{vouched: true}, true},
		"it never stepped":                           {trusted, MemberClocks{steady: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := test.clock(t)
			require.Zero(t, c.QuietFor(ttl))
			require.Equal(t, test.accepted, c.Accept(ttl, test.members, func(time.Duration) {}))
			if !test.accepted {
				require.Zero(t, c.QuietFor(ttl))
				return
			}
			require.Equal(t, ttl, c.QuietFor(ttl))
			require.Equal(t, time.Second, c.QuietFor(2*ttl-time.Second))
			require.Zero(t, c.QuietFor(2*ttl))
		})
	}
}

func TestStartingReplicaReadsClockAndMembers(t *testing.T) {
	for name, c := range map[string]struct {
		agrees  bool
		members MemberClocks
		want    bool
	}{
		"alone, and the clocks agree":                     {true, MemberClocks{steady: true}, true},
		"alone, and they do not":                          {false, MemberClocks{steady: true}, false},
		"a member vouches":                                {false, MemberClocks{vouched: true}, true},
		"the clocks agree, but a member has seen it step": {true, MemberClocks{stepped: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := NewTrust(time.Second)
			require.True(t, clock.Holds())
			require.Equal(t, c.want, clock.Begin(0, time.Hour, c.agrees, c.members))
			require.Equal(t, !c.want, clock.Holds())
			if !c.want {
				require.Equal(t, IsHeld, clock.Look(1, time.Hour, 0, 0))
				require.True(t, clock.Accept(2, MemberClocks{vouched: true}, func(time.Duration) {}), "as soon as a member vouches")
			}
		})
	}
}

func TestAnswersToClaimsHoldNothing(t *testing.T) {
	c := trusted(t)
	require.True(t, c.Claimed(0, 10*time.Second, 0, 0))
	require.Equal(t, 15*time.Second, c.QuietFor(0), "but a small step is taken in")
	require.False(t, c.Claimed(0, time.Hour, 0, 0))
	require.False(t, c.Holds(), "a look decides")
}

func TestMembersSpeakForTheClockTheySentBy(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	const limit, life = 15 * time.Second, 15 * time.Second
	since := now.Add(-20 * time.Second) // this replica has seen the clock steady
	member := func(clock string, age, steady time.Duration) heartbeat.Replica {
		return heartbeat.Replica{ID: "b", Clock: clock, LastHeartbeat: now.Add(-age), Life: life, Steady: steady}
	}
	for name, c := range map[string]struct {
		member heartbeat.Replica
		want   MemberClocks
	}{
		"itself":                    {heartbeat.Replica{ID: "a", Clock: heartbeat.ClockTrusted, LastHeartbeat: now}, MemberClocks{steady: true}},
		"of an older version":       {heartbeat.Replica{ID: "b"}, MemberClocks{steady: true}},
		"trusts it":                 {member(heartbeat.ClockTrusted, time.Second, time.Hour), MemberClocks{vouched: true, steady: true}},
		"trusts it for a moment":    {member(heartbeat.ClockTrusted, 4*time.Second, 10*time.Second), MemberClocks{vouched: true}},
		"for long enough by now":    {member(heartbeat.ClockStepped, 4*time.Second, 11*time.Second), MemberClocks{stepped: true, steady: true}},
		"not for long enough":       {member(heartbeat.ClockStepped, 4*time.Second, 10*time.Second), MemberClocks{stepped: true}},
		"has just started":          {member(heartbeat.ClockDoubted, 0, 0), MemberClocks{steady: true}},
		"sent by the clock before":  {member(heartbeat.ClockTrusted, 16*time.Second, time.Hour), MemberClocks{}},
		"sent by a clock ahead":     {member(heartbeat.ClockTrusted, -2*time.Second, time.Hour), MemberClocks{}},
		"sent before it was steady": {heartbeat.Replica{ID: "b", Clock: heartbeat.ClockTrusted, LastHeartbeat: now.Add(-30 * time.Second), Life: time.Minute, Steady: time.Hour}, MemberClocks{vouched: true}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, ClocksOf([]heartbeat.Replica{c.member}, "a", now, since, limit))
		})
	}
}
