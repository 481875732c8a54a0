package scheduler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/heartbeat"
)

// trusted is a trust in a clock at offset 0, with leases of 15 s.
func trusted(t *testing.T) *trust {
	c := newTrust(15 * time.Second)
	require.True(t, c.begin(0, 0, true, memberClocks{}))
	require.False(t, c.holds())
	return c
}

func TestStepsOfMoreThanTheLimitAreHeld(t *testing.T) {
	const ttl = 15 * time.Second
	for name, c := range map[string]struct {
		step, slack time.Duration
		want        verdict
		quiet       bool
	}{
		"none":                       {0, 0, isPlausible, false},
		"a little":                   {time.Second, 0, isPlausible, false},
		"a third of the TTL":         {ttl / 3, 0, isPlausible, false},
		"more forward":               {ttl/3 + time.Second, 0, isPlausible, true},
		"more, but not for certain":  {ttl/3 + time.Second, time.Second, isPlausible, false},
		"more back":                  {-ttl/3 - time.Second, 0, isPlausible, false},
		"the TTL":                    {ttl, 0, isPlausible, true},
		"forward":                    {ttl + 1, 0, hasStepped, false},
		"back":                       {-ttl - 1, 0, hasStepped, false},
		"a slow answer says little":  {ttl + time.Second, time.Second, isPlausible, false},
		"a year, with a slow answer": {365 * 24 * time.Hour, 10 * time.Second, hasStepped, false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := trusted(t)
			wantQuiet := time.Duration(0)
			if c.quiet {
				wantQuiet = ttl
			}
			require.Equal(t, c.want, clock.look(time.Minute, c.step, c.slack, 0))
			require.Equal(t, c.want == hasStepped, clock.holds())
			if c.slack == 0 {
				require.Equal(t, wantQuiet, clock.quietFor(time.Minute))
			}
		})
	}
	require.Equal(t, 5*time.Second, clockLimit(100*time.Millisecond))
	require.Equal(t, time.Hour, clockLimit(time.Hour))
}

func TestClockThatIsBackIsTrustedAtOnce(t *testing.T) {
	c := trusted(t)
	require.Equal(t, hasStepped, c.look(time.Minute, 8*time.Hour, 0, 0))
	require.Equal(t, isHeld, c.look(time.Minute+1, 8*time.Hour, 0, 0))
	require.Equal(t, 8*time.Hour, c.view(time.Minute+1, 0).by)
	require.Equal(t, isHeld, c.look(time.Minute+2, 0, 2*time.Second, 0), "so slow that it says nothing")
	require.Equal(t, hasReturned, c.look(time.Minute+3, time.Second, 0, 0))
	require.False(t, c.holds())
	require.Equal(t, 15*time.Second, c.quietFor(time.Minute+3), "but holders renew first")
	require.Zero(t, c.quietFor(2*time.Minute))
}

func TestSteadyClockIsAcceptedByAllTogether(t *testing.T) {
	var at time.Duration // of the replica's own clock
	rebased := time.Duration(0)
	rebase := func(offset time.Duration) { rebased = offset }
	all, notAll := memberClocks{steady: true}, memberClocks{vouched: true}
	c := trusted(t)
	c.look(at, time.Hour, 0, 0)
	for at = time.Second; at < 15*time.Second; at += time.Second {
		require.Equal(t, isHeld, c.look(at, time.Hour+time.Second, 0, 0))
		require.False(t, c.accept(at, all, rebase))
	}
	require.Equal(t, hasStepped, c.look(at, 2*time.Hour, 0, 0), "again")
	require.False(t, c.accept(at+time.Second, all, rebase))
	require.Equal(t, isHeld, c.look(at+2*time.Second, 2*time.Hour+2*time.Second, 0, 0), "a little: it is not steady yet")
	at += 2 * time.Second
	require.False(t, c.accept(at+15*time.Second-1, all, rebase))
	require.False(t, c.accept(at+15*time.Second, notAll, rebase), "a member that trusts it has not seen what it was")
	require.True(t, c.accept(at+15*time.Second, all, rebase))
	require.Equal(t, 2*time.Hour+2*time.Second, rebased)
	require.False(t, c.holds())
	require.False(t, c.accept(at+16*time.Second, all, rebase), "it is trusted already")
}

func TestNothingIsTakenOverAfterAcceptingAClock(t *testing.T) {
	const ttl = 15 * time.Second
	doubted := func(*testing.T) *trust {
		c := newTrust(ttl)
		c.begin(0, time.Hour, false, memberClocks{})
		return c
	}
	stepped := func(t *testing.T) *trust {
		c := trusted(t)
		c.look(0, time.Hour, 0, 0)
		return c
	}
	for name, test := range map[string]struct {
		clock    func(*testing.T) *trust
		members  memberClocks
		accepted bool
	}{
		"it has stepped and is steady":               {stepped, memberClocks{steady: true}, true},
		"it has stepped and is not steady for all":   {stepped, memberClocks{}, false},
		"a replica that starts has seen it steady":   {doubted, memberClocks{steady: true}, true},
		"a member vouches for a replica that starts": {doubted, memberClocks{vouched: true}, true},
		"it never stepped":                           {trusted, memberClocks{steady: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := test.clock(t)
			require.Zero(t, c.quietFor(ttl))
			require.Equal(t, test.accepted, c.accept(ttl, test.members, func(time.Duration) {}))
			if !test.accepted {
				require.Zero(t, c.quietFor(ttl))
				return
			}
			require.Equal(t, ttl, c.quietFor(ttl))
			require.Equal(t, time.Second, c.quietFor(2*ttl-time.Second))
			require.Zero(t, c.quietFor(2*ttl))
		})
	}
}

func TestStartingReplicaReadsClockAndMembers(t *testing.T) {
	for name, c := range map[string]struct {
		agrees  bool
		members memberClocks
		want    bool
	}{
		"alone, and the clocks agree":                     {true, memberClocks{steady: true}, true},
		"alone, and they do not":                          {false, memberClocks{steady: true}, false},
		"a member vouches":                                {false, memberClocks{vouched: true}, true},
		"the clocks agree, but a member has seen it step": {true, memberClocks{stepped: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := newTrust(time.Second)
			require.True(t, clock.holds())
			require.Equal(t, c.want, clock.begin(0, time.Hour, c.agrees, c.members))
			require.Equal(t, !c.want, clock.holds())
			if !c.want {
				require.Equal(t, isHeld, clock.look(1, time.Hour, 0, 0))
				require.True(t, clock.accept(2, memberClocks{vouched: true}, func(time.Duration) {}), "as soon as a member vouches")
			}
		})
	}
}

func TestAnswersToClaimsHoldNothing(t *testing.T) {
	c := trusted(t)
	require.True(t, c.claimed(0, 10*time.Second, 0, 0))
	require.Equal(t, 15*time.Second, c.quietFor(0), "but a small step is taken in")
	require.False(t, c.claimed(0, time.Hour, 0, 0))
	require.False(t, c.holds(), "a look decides")
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
		want   memberClocks
	}{
		"itself":                    {heartbeat.Replica{ID: "a", Clock: heartbeat.ClockTrusted, LastHeartbeat: now}, memberClocks{steady: true}},
		"of an older version":       {heartbeat.Replica{ID: "b"}, memberClocks{steady: true}},
		"trusts it":                 {member(heartbeat.ClockTrusted, time.Second, time.Hour), memberClocks{vouched: true, steady: true}},
		"trusts it for a moment":    {member(heartbeat.ClockTrusted, 4*time.Second, 10*time.Second), memberClocks{vouched: true}},
		"for long enough by now":    {member(heartbeat.ClockStepped, 4*time.Second, 11*time.Second), memberClocks{stepped: true, steady: true}},
		"not for long enough":       {member(heartbeat.ClockStepped, 4*time.Second, 10*time.Second), memberClocks{stepped: true}},
		"has just started":          {member(heartbeat.ClockDoubted, 0, 0), memberClocks{steady: true}},
		"sent by the clock before":  {member(heartbeat.ClockTrusted, 16*time.Second, time.Hour), memberClocks{}},
		"sent by a clock ahead":     {member(heartbeat.ClockTrusted, -2*time.Second, time.Hour), memberClocks{}},
		"sent before it was steady": {heartbeat.Replica{ID: "b", Clock: heartbeat.ClockTrusted, LastHeartbeat: now.Add(-30 * time.Second), Life: time.Minute, Steady: time.Hour}, memberClocks{vouched: true}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, clocksOf([]heartbeat.Replica{c.member}, "a", now, since, limit))
		})
	}
}
