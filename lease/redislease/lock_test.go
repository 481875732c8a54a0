package redislease_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
)

func lockGranted(t testing.TB, s protocol.Store, c protocol.LockClaim) protocol.LockGrant {
	t.Helper()
	a, err := s.ClaimLock(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, a.Status)
	return c.Grant(a)
}

func queued(t testing.TB, s protocol.Store, c protocol.LockClaim) {
	t.Helper()
	a, err := s.ClaimLock(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, protocol.Queued, a.Status)
}

func waiting(c protocol.LockClaim) protocol.LockClaim {
	c.WaiterTTL, c.Order = long, protocol.OrderArrival
	return c
}

// useLocks uses every verb of locks, in an order in which all succeed.
func useLocks(t *testing.T, s *redislease.Store, before func(verb string), after func()) {
	t.Helper()
	do := func(verb string, call func()) {
		t.Helper()
		before(verb)
		call()
		after()
	}
	var g, other protocol.LockGrant
	do("claim", func() { g = lockGranted(t, s, lockOf("lock", "a", "r", 1, 2)) })
	do("claim beside", func() { other = lockGranted(t, s, lockOf("lock", "b", "r", 1, 2)) })
	do("wait", func() { queued(t, s, waiting(lockOf("lock", "c", "r", 2, 2))) })
	do("renew", func() { require.NoError(t, lockRenewed(s, t.Context(), g)) })
	do("show", func() {
		l, err := s.Lock(t.Context(), "lock")
		require.NoError(t, err)
		require.Len(t, l.Holds, 2)
		require.Len(t, l.Queue, 1)
	})
	do("list", func() {
		locks, next, err := s.Locks(t.Context(), "lo", "", 1000)
		require.NoError(t, err)
		require.Empty(t, next)
		require.Len(t, locks, 1)
	})
	do("force release", func() {
		held, err := s.ForceRelease(t.Context(), "lock", other.Token)
		require.NoError(t, err)
		require.True(t, held)
	})
	do("release", func() { require.NoError(t, s.ReleaseLock(t.Context(), g)) })
	do("take the turn", func() {
		c := waiting(lockOf("lock", "c", "r", 2, 2))
		c.TTL = time.Millisecond
		lockGranted(t, s, c)
		outlast()
	})
	do("take away", func() { lockGranted(t, s, lockOf("lock", "a", "r2", 2, 2)) })
}

func TestDocumentedPermissionsAreEnoughForLocks(t *testing.T) {
	rights, _ := documentedRights(t)
	srv := redistest.Start(t, user(rights...))
	s := openFor(t, redis.NewClient(&redis.Options{Addr: srv.Addr(), Username: "app", Password: "secret"}))
	received, ended := make(chan string, 64), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- s.Listen(ctx, func(name string, _ []string) { received <- name }) }()
	require.Empty(t, receive(t, received))
	useLocks(t, s, func(string) {}, func() {})
	require.Equal(t, "lock", receive(t, received))
	cancel()
	require.ErrorIs(t, receive(t, ended), context.Canceled)
}

func TestLocksNeedNoRightToPublish(t *testing.T) {
	rights, _ := documentedRights(t)
	srv := redistest.Start(t, user(append(slices.Clone(rights), "-@pubsub", "resetchannels")...))
	s := openFor(t, redis.NewClient(&redis.Options{Addr: srv.Addr(), Username: "app", Password: "secret"}))
	useLocks(t, s, func(string) {}, func() {})
	require.ErrorContains(t, s.Listen(t.Context(), func(string, []string) {}), "NOPERM")
}

func TestListenReportsThatItsConnectionFailed(t *testing.T) {
	r := newRig(t, redislease.WithTimeout(300*time.Millisecond))
	received, ended := make(chan string, 16), make(chan error, 1)
	go func() { ended <- r.store.Listen(t.Context(), func(name string, _ []string) { received <- name }) }()
	require.Empty(t, receive(t, received))
	r.proxy.Cut()
	require.ErrorContains(t, receive(t, ended), "listen: ")
}

func TestLostLockScriptsAreSentAgain(t *testing.T) {
	r := newRig(t)
	admin := r.srv.Client(t)
	var verb string
	useLocks(t, r.store, func(name string) {
		verb = name
		require.NoError(t, admin.ScriptFlush(t.Context()).Err())
		r.proxy.ResetCounts()
	}, func() { require.Positive(t, r.proxy.CommandsByName()["EVAL"], verb) })
}

func TestFullMemoryRefusesLockClaimsAndKeepsHolds(t *testing.T) {
	srv := redistest.Start(t, redistest.WithConf("maxmemory-policy", "noeviction"))
	admin, s := srv.Client(t), open(t, srv.Addr())
	one := lockGranted(t, s, lockOf("mutex", "a", "r", 1, 1))
	queued(t, s, waiting(lockOf("mutex", "b", "r", 1, 1)))
	two := []protocol.LockGrant{
		lockGranted(t, s, lockOf("two", "a", "r1", 1, 2)), lockGranted(t, s, lockOf("two", "a", "r2", 1, 2)),
	}
	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory", "1").Err())
	for _, c := range []protocol.LockClaim{lockOf("free", "a", "r", 1, 1), waiting(lockOf("mutex", "c", "r", 1, 1))} {
		_, err := s.ClaimLock(t.Context(), c)
		require.ErrorContains(t, err, "OOM")
	}
	require.NoError(t, errors.Join(s.RenewLocks(t.Context(), append(two, one))...))
	l, err := s.Lock(t.Context(), "mutex")
	require.NoError(t, err)
	require.Equal(t, 1, l.Waiters)
	require.NoError(t, s.ReleaseLock(t.Context(), one))
	require.NoError(t, s.ReleaseLock(t.Context(), two[0]))
	held, err := s.ForceRelease(t.Context(), "two", two[1].Token)
	require.NoError(t, err)
	require.True(t, held)
	require.NoError(t, s.ReleaseLock(t.Context(), protocol.LockGrant{
		Name: "mutex", Holder: "b", Request: "r", TTL: long, Permits: 1, Limit: 1,
	}))
	require.NoError(t, admin.ConfigSet(t.Context(), "maxmemory", "0").Err())
	lockGranted(t, s, lockOf("mutex", "c", "r", 1, 1))
	lockGranted(t, s, lockOf("two", "c", "r", 2, 2))
	l, err = s.Lock(t.Context(), "free")
	require.NoError(t, err)
	require.Empty(t, l.Holds)
}

func TestLockTokensRiseWhenServerClockGoesBack(t *testing.T) {
	srv := redistest.Start(t)
	admin, s := srv.Client(t), openIn(t, srv.Addr(), "ns")
	for _, limit := range []int{1, 3} {
		name := fmt.Sprint("lock", limit)
		lockGranted(t, s, lockOf(name, "a", "r", 1, 3))
		ahead := time.Now().Add(time.Hour).UnixMicro()
		require.NoError(t, admin.HSet(t.Context(), redislease.Key("ns", "lock:"+name), "token", ahead).Err())
		for n := range int64(3) {
			c := lockOf(name, "b", fmt.Sprint(n), 1, 3)
			g := lockGranted(t, s, c)
			require.Equal(t, ahead+n+1, g.Token)
			require.NoError(t, s.ReleaseLock(t.Context(), g))
		}
	}
}

// A lock that nobody holds or waits for is forgotten within minutes, whatever its TTL was; one that
// is of use stays, and so does what a holder may ask about.
func TestLocksAreForgottenWithinMinutes(t *testing.T) {
	srv := redistest.Start(t)
	admin, s := srv.Client(t), openIn(t, srv.Addr(), "ns")
	key, hour := redislease.Key("ns", "lock:lock"), time.Hour
	const least, most = 5 * time.Minute, 7 * time.Minute
	lasts := func(from, to time.Duration) {
		t.Helper()
		got, err := admin.PTTL(t.Context(), key).Result()
		require.NoError(t, err)
		require.Greater(t, got, from-10*time.Second)
		require.LessOrEqual(t, got, to)
	}
	held := func(request string, ttl time.Duration) protocol.LockGrant {
		c := lockOf("lock", "a", request, 1, 2)
		c.TTL = ttl
		return lockGranted(t, s, c)
	}
	for i, ttl := range []time.Duration{time.Second, 15 * time.Second, 192 * hour} {
		for range 3 { // by the short way, too
			g := held(fmt.Sprint("r", i), ttl)
			lasts(ttl+least, ttl+most)
			require.NoError(t, s.ReleaseLock(t.Context(), g))
			lasts(least, most)
		}
	}
	one, two := held("one", 2*hour), held("two", time.Second)
	require.NoError(t, s.ReleaseLock(t.Context(), two))
	lasts(2*hour+least, 2*hour+most)
	require.NoError(t, lockRenewed(s, t.Context(), one))
	w := waiting(lockOf("lock", "b", "r", 2, 2))
	w.WaiterTTL = 50 * time.Minute
	queued(t, s, w)
	require.NoError(t, s.ReleaseLock(t.Context(), one))
	lasts(w.WaiterTTL+least, 2*hour+most)
	g := w.Grant(protocol.LockAnswer{})
	g.Pending = true
	require.NoError(t, s.ReleaseLock(t.Context(), g))
	lasts(least, most)
	keys, err := admin.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{key, "solotick:{ns}"}, keys, "one key of a lock, whatever there is of it")

	// A holder that was deprived of it asks once more within its TTL, and so may not find it forgotten.
	forced := held("forced", 2*hour)
	was, err := s.ForceRelease(t.Context(), "lock", forced.Token)
	require.NoError(t, err)
	require.True(t, was)
	for range 2 {
		lasts(2*hour, 2*hour+most)
		require.NoError(t, s.ReleaseLock(t.Context(), held("next", time.Second)))
	}

	// Tokens that are ahead of the clock are kept until it has come there.
	ahead := time.Now().Add(3 * hour).UnixMicro()
	require.NoError(t, admin.HSet(t.Context(), key, "token", ahead).Err())
	g = held("ahead", time.Second)
	require.Greater(t, g.Token, ahead)
	require.NoError(t, s.ReleaseLock(t.Context(), g))
	lasts(3*hour+least-time.Minute, 3*hour+most)
}

func TestALockThatEndedLeavesNoFields(t *testing.T) {
	srv := redistest.Start(t)
	admin, s := srv.Client(t), openIn(t, srv.Addr(), "ns")
	useLocks(t, s, func(string) {}, func() {})
	l, err := s.Lock(t.Context(), "lock")
	require.NoError(t, err)
	for _, h := range l.Holds {
		require.NoError(t, s.ReleaseLock(t.Context(), protocol.LockGrant{
			Name: "lock", Holder: h.Holder, Request: h.Request, Token: h.Token, TTL: long, Permits: h.Permits, Limit: 2,
		}))
	}
	fields, err := admin.HKeys(t.Context(), redislease.Key("ns", "lock:lock")).Result()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"token", "born", "until", "gone", "arrived", "owed"}, fields)
	keys, err := admin.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{redislease.Key("ns", "lock:lock"), "solotick:{ns}"}, keys)
	for i := range 300 { // what it remembers is bounded
		c := lockOf("lock", "a", fmt.Sprint(i), 2, 2)
		g := lockGranted(t, s, c)
		_, err := s.ForceRelease(t.Context(), "lock", g.Token)
		require.NoError(t, err)
	}
	gone, err := admin.HGet(t.Context(), redislease.Key("ns", "lock:lock"), "gone").Result()
	require.NoError(t, err)
	require.Equal(t, 64, strings.Count(gone, "\n"))
}

// calls is how many commands scripts have called.
func calls(t testing.TB, admin *redis.Client) (n int) {
	t.Helper()
	info, err := admin.Info(t.Context(), "commandstats").Result()
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`cmdstat_(\w+):calls=(\d+)`).FindAllStringSubmatch(info, -1) {
		switch m[1] {
		case "hmget", "hset", "hdel", "hget", "time", "hgetall", "pexpire", "publish":
			k, err := strconv.Atoi(m[2])
			require.NoError(t, err)
			n += k
		}
	}
	return n
}

func TestTheUsualCasesOfLocksCallFewCommands(t *testing.T) {
	srv := redistest.Start(t)
	admin, s := srv.Client(t), open(t, srv.Addr())
	for _, limit := range []int{1, 10} {
		name := fmt.Sprint("lock", limit)
		require.NoError(t, s.ReleaseLock(t.Context(), lockGranted(t, s, lockOf(name, "a", "new", 1, limit))))
		if limit > 1 {
			for i := range 3 {
				lockGranted(t, s, lockOf(name, "z", fmt.Sprint(i), 1, limit))
			}
		}
		cost := func(what string, most int, call func()) {
			t.Helper()
			before := calls(t, admin)
			call()
			require.LessOrEqual(t, calls(t, admin)-before, most, "%s of %d", what, limit)
		}
		var g protocol.LockGrant
		cost("claim", 4, func() { g = lockGranted(t, s, lockOf(name, "a", "r", 1, limit)) })
		beside := min(limit-1, 1) // the place of a hold among others changes with its end
		cost("renewal", 4+beside, func() { require.NoError(t, lockRenewed(s, t.Context(), g)) })
		cost("refusal", 6, func() {
			a, err := s.ClaimLock(t.Context(), lockOf(name, "b", "r", limit, limit))
			require.NoError(t, err)
			require.Equal(t, protocol.Held, a.Status)
		})
		cost("release", 5+beside, // one says for how long what was released is remembered
			func() { require.NoError(t, s.ReleaseLock(t.Context(), g)) })
	}
}

// The cost of a claim does not grow with the length of the queue.
func TestTenThousandCanWaitInOneQueue(t *testing.T) {
	srv := redistest.Start(t)
	admin, s := srv.Client(t), open(t, srv.Addr(), redislease.WithTimeout(30*time.Second)) // to read all waiters on a busy machine
	const many, together = 10_000, 100
	g := lockGranted(t, s, lockOf("lock", "a", "r", 1, 1))
	for i := 0; i < many; i += together {
		errs := make(chan error, together)
		for j := range together {
			go func() {
				_, err := s.ClaimLock(t.Context(), waiting(lockOf("lock", "h", fmt.Sprint(i+j), 1, 1)))
				errs <- err
			}()
		}
		for range together {
			require.NoError(t, receive(t, errs))
		}
	}
	l, err := s.Lock(t.Context(), "lock")
	require.NoError(t, err)
	require.Equal(t, many, l.Waiters)

	cost := func(what string, call func()) {
		t.Helper()
		before := calls(t, admin)
		call()
		require.LessOrEqual(t, calls(t, admin)-before, 16, what)
	}
	cost("a repeated claim", func() { queued(t, s, waiting(lockOf("lock", "h", l.Queue[50].Request, 1, 1))) })
	cost("a new one", func() { queued(t, s, waiting(lockOf("lock", "h", "last", 1, 1))) })
	cost("a release", func() { require.NoError(t, s.ReleaseLock(t.Context(), g)) })
	cost("a claim that is not the first", func() { queued(t, s, waiting(lockOf("lock", "h", l.Queue[1].Request, 1, 1))) })
	cost("the first one's", func() { g = lockGranted(t, s, waiting(lockOf("lock", "h", l.Queue[0].Request, 1, 1))) })
	cost("a renewal", func() { require.NoError(t, lockRenewed(s, t.Context(), g)) })
	cost("a withdrawal", func() {
		require.NoError(t, s.ReleaseLock(t.Context(), protocol.LockGrant{
			Name: "lock", Holder: "h", Request: l.Queue[2].Request, TTL: long, Permits: 1, Limit: 1,
		}))
	})
	cost("a release", func() { require.NoError(t, s.ReleaseLock(t.Context(), g)) })
	lockGranted(t, s, waiting(lockOf("lock", "h", l.Queue[1].Request, 1, 1)))
}
