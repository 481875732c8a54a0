package etcdlease_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/servertest"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/etcdlease"
)

const long = time.Minute

func claim(t testing.TB, s *etcdlease.Store, c protocol.Claim) protocol.Answer {
	t.Helper()
	a, err := s.Claim(t.Context(), c)
	require.NoError(t, err)
	return a
}

func of(tick int64, holder string, ttl time.Duration) protocol.Claim {
	return protocol.Claim{Name: "job", Tick: tick, Holder: holder, Request: fmt.Sprint(holder, "-", tick), TTL: ttl, Takeovers: 3}
}

func sync1(t testing.TB, s *etcdlease.Store) protocol.Record {
	t.Helper()
	list, err := s.Sync(t.Context(), []protocol.Sync{{Name: "job"}})
	require.NoError(t, err)
	return list[0]
}

// grantOf is the grant that answers a claim.
func grantOf(c protocol.Claim, a protocol.Answer) protocol.Grant {
	return protocol.Grant{Name: c.Name, Tick: c.Tick, Holder: c.Holder, Request: c.Request, Token: a.Token, Attempt: a.Attempt, Takeovers: a.Takeovers, TTL: c.TTL}
}

func TestKilledServerKeepsWhatItAnswered(t *testing.T) {
	t.Parallel()
	etcd := own(t)
	s := open(t, configOf(etcd))
	sync1(t, s)
	c := of(100, "a", long)
	g := grantOf(c, claim(t, s, c))
	_, since, err := s.Time(t.Context())
	require.NoError(t, err)
	etcd.Kill()
	require.NoError(t, etcd.Run())
	require.Equal(t, protocol.Held, claim(t, s, of(100, "b", long)).Status)
	require.NoError(t, s.Renew(t.Context(), []protocol.Grant{g})[0])
	require.NoError(t, s.Settle(t.Context(), g, protocol.OutcomeSucceeded))
	_, again, err := s.Time(t.Context())
	require.NoError(t, err)
	require.Equal(t, since, again)
}

func TestCallsEndWhileTheServerIsFrozen(t *testing.T) {
	t.Parallel()
	etcd := own(t)
	s := open(t, configOf(etcd), etcdlease.WithTimeout(300*time.Millisecond))
	require.Eventually(t, func() bool {
		_, err := s.Sync(t.Context(), []protocol.Sync{{Name: "job"}})
		return err == nil
	}, 20*time.Second, time.Millisecond)
	require.NoError(t, etcd.Freeze())
	_, err := s.Claim(t.Context(), of(100, "a", long))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Contains(t, s.Hint(err), "check that etcd runs")
	require.NoError(t, etcd.Thaw())
	require.Eventually(t, func() bool {
		a, err := s.Claim(t.Context(), of(100, "a", long)) // the same claim: it may have been granted meanwhile
		return err == nil && a.Status == protocol.Granted
	}, 20*time.Second, 10*time.Millisecond)
}

// A server that is emptied, and numbers its revisions from the beginning again, has its watch begin
// again, too.
func TestEmptiedServerIsNoticed(t *testing.T) {
	t.Parallel()
	etcd := own(t)
	s := open(t, configOf(etcd))
	sync1(t, s)
	c := of(100, "a", long)
	g := grantOf(c, claim(t, s, c))
	_, since, err := s.Time(t.Context())
	require.NoError(t, err)
	etcd.Kill()
	require.NoError(t, etcd.Empty())
	require.NoError(t, etcd.Run())

	var later time.Time
	require.Eventually(t, func() bool {
		_, later, err = s.Time(t.Context())
		return err == nil
	}, 20*time.Second, time.Millisecond)
	require.True(t, later.After(since))
	require.Equal(t, protocol.Unknown, claim(t, s, of(101, "b", long)).Status)
	require.NoError(t, s.Renew(t.Context(), []protocol.Grant{g})[0])
	sync1(t, s)
	require.Equal(t, protocol.Held, claim(t, s, of(100, "b", long)).Status)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	received := make(chan string, 64)
	go func() { _ = s.Subscribe(ctx, func(m []byte) { received <- string(m) }) }()
	require.Eventually(t, func() bool {
		require.NoError(t, s.Publish(ctx, []byte("after")))
		select {
		case m := <-received:
			return m == "after"
		case <-time.After(100 * time.Millisecond):
			return false
		}
	}, 20*time.Second, time.Millisecond)
}

// A copy that was restored has leases as they were long ago. Nobody takes them to have ended.
func TestRestoredLeaseIsSeenForItsWholeTTL(t *testing.T) {
	t.Parallel()
	etcd := own(t)
	name := prefix()
	holder, other := open(t, configOf(etcd), etcdlease.WithPrefix(name)), open(t, configOf(etcd), etcdlease.WithPrefix(name))
	sync1(t, holder)
	const ttl = 5 * time.Second
	c := of(100, "a", ttl)
	g := grantOf(c, claim(t, holder, c))
	require.Equal(t, protocol.Held, claim(t, other, of(100, "b", ttl)).Status) // it has seen the lease now

	admin, err := clientv3.New(configOf(etcd))
	require.NoError(t, err)
	defer func() { _ = admin.Close() }()
	copied, err := admin.Get(t.Context(), name+"/", clientv3.WithPrefix())
	require.NoError(t, err)
	began := time.Now()
	for time.Since(began) < ttl { // renewals that the copy does not have
		require.NoError(t, holder.Renew(t.Context(), []protocol.Grant{g})[0])
		time.Sleep(ttl / 10)
	}
	etcd.Kill()
	require.NoError(t, etcd.Empty())
	require.NoError(t, etcd.Run())
	for _, kv := range copied.Kvs {
		_, err := admin.Put(t.Context(), string(kv.Key), string(kv.Value))
		require.NoError(t, err)
	}
	var a protocol.Answer
	require.Eventually(t, func() bool {
		a, err = other.Claim(t.Context(), of(100, "c", ttl))
		return err == nil
	}, 20*time.Second, time.Millisecond)
	require.NotEqual(t, protocol.Granted, a.Status)
}

// A member of three that is killed or frozen costs calls at most a third of their time.
func TestFleetOutlivesOneMemberOfThree(t *testing.T) {
	t.Parallel()
	members, err := servertest.EtcdCluster()
	require.NoError(t, err)
	for _, m := range members {
		t.Cleanup(m.Stop)
	}
	s := open(t, configOf(members...), etcdlease.WithTimeout(2*time.Second))
	sync1(t, s)
	tick := int64(100)
	works := func() {
		t.Helper()
		for range 6 {
			tick++
			c := of(tick, "a", long)
			var a protocol.Answer
			require.Eventually(t, func() bool { // while a leader is elected
				a, err = s.Claim(t.Context(), c)
				return err == nil
			}, time.Minute, time.Millisecond)
			require.Equal(t, protocol.Granted, a.Status)
			require.Eventually(t, func() bool {
				return s.Settle(t.Context(), grantOf(c, a), protocol.OutcomeSucceeded) == nil
			}, time.Minute, time.Millisecond)
		}
	}
	works()
	for _, m := range members {
		m.Kill()
		works()
		require.NoError(t, m.Run())
	}
	require.NoError(t, members[0].Freeze())
	works()
	require.NoError(t, members[0].Thaw())
}

// A process that has just started has seen nothing: it waits for a whole TTL, and no longer.
func TestNewcomerTakesOverAfterATTL(t *testing.T) {
	t.Parallel()
	config := configOf(server(t))
	name := prefix()
	first, ttl := open(t, config, etcdlease.WithPrefix(name)), 500*time.Millisecond
	sync1(t, first)
	claim(t, first, of(100, "a", ttl))
	newcomer := open(t, config, etcdlease.WithPrefix(name))
	began := time.Now()
	a := claim(t, newcomer, of(100, "b", long))
	require.Equal(t, protocol.Held, a.Status)
	require.LessOrEqual(t, a.Remaining, ttl+ttl/50+5*time.Millisecond)
	require.Eventually(t, func() bool { return claim(t, newcomer, of(100, "b", long)).Status == protocol.Granted }, 20*time.Second, time.Millisecond)
	require.GreaterOrEqual(t, time.Since(began), ttl)
}

// One that has watched takes over when the lease has ended, without having asked for it before.
func TestWatcherTakesOverAtOnce(t *testing.T) {
	t.Parallel()
	config := configOf(server(t))
	name := prefix()
	first, watcher := open(t, config, etcdlease.WithPrefix(name)), open(t, config, etcdlease.WithPrefix(name))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	notified := make(chan struct{}, 64)
	go func() { _ = watcher.Values().Subscribe(ctx, func(driver.Notification) { notified <- struct{}{} }) }()
	<-notified // it watches
	sync1(t, first)
	const ttl = 500 * time.Millisecond
	claim(t, first, of(100, "a", ttl))
	time.Sleep(ttl + 2*time.Second) // nobody asks meanwhile; who has not watched waits for a TTL from now
	require.Equal(t, protocol.Granted, claim(t, watcher, of(100, "b", long)).Status)
}

func TestMissingRightsAreNamed(t *testing.T) {
	t.Parallel()
	etcd := own(t)
	admin, err := clientv3.New(configOf(etcd))
	require.NoError(t, err)
	defer func() { _ = admin.Close() }()
	ctx := t.Context()
	_, err = admin.RoleAdd(ctx, "narrow")
	require.NoError(t, err)
	_, err = admin.RoleGrantPermission(ctx, "narrow", "elsewhere/", clientv3.GetPrefixRangeEnd("elsewhere/"), clientv3.PermissionType(clientv3.PermReadWrite))
	require.NoError(t, err)
	for user, role := range map[string]string{"root": "root", "worker": "narrow"} {
		_, err = admin.UserAdd(ctx, user, "secret")
		require.NoError(t, err)
		_, err = admin.UserGrantRole(ctx, user, role)
		require.NoError(t, err)
	}
	_, err = admin.AuthEnable(ctx)
	require.NoError(t, err)
	for url, hint := range map[string]string{
		"etcd://" + etcd.Addr(0):                       "wants a user and a password",
		"etcd://worker:wrong@" + etcd.Addr(0):          "check the user and the password",
		"etcd://worker:secret@" + etcd.Addr(0):         "grant-permission",
		"etcd://root:secret@" + etcd.Addr(0) + "/mine": "",
	} {
		s, err := etcdlease.Open(url, "fleet", etcdlease.WithTimeout(20*time.Second))
		require.NoError(t, err)
		err = s.Check(ctx)
		if hint == "" {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, protocol.ErrPermanent, url)
			require.Contains(t, err.Error(), hint)
			require.NotContains(t, err.Error(), "secret")
		}
		require.NoError(t, s.Close())
	}
}

func TestFullServerIsNamedAndWorksAgain(t *testing.T) {
	t.Parallel()
	etcd := own(t, "--quota-backend-bytes", "2000000")
	s := open(t, configOf(etcd))
	sync1(t, s)
	admin, err := clientv3.New(configOf(etcd))
	require.NoError(t, err)
	defer func() { _ = admin.Close() }()
	for i := range 100 {
		if _, err = admin.Put(t.Context(), fmt.Sprint("fill/", i), string(make([]byte, 100<<10))); err != nil {
			break
		}
	}
	require.Error(t, err)
	facts, err := s.Facts(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"NOSPACE"}, facts.Alarms)
	_, err = s.Claim(t.Context(), of(100, "a", long))
	if v := facts.Members[0].Version; strings.HasPrefix(v, "3.5.") || strings.HasPrefix(v, "3.6.") {
		require.NoError(t, err, "they do not count a transaction within another, as the store writes")
		return
	}
	require.Error(t, err)
	require.NotErrorIs(t, err, protocol.ErrPermanent)
	require.Contains(t, s.Hint(err), "make room")

	res, err := admin.Delete(t.Context(), "fill/", clientv3.WithPrefix())
	require.NoError(t, err)
	_, err = admin.Compact(t.Context(), res.Header.Revision, clientv3.WithCompactPhysical())
	require.NoError(t, err)
	_, err = admin.Defragment(t.Context(), etcd.Addr(0))
	require.NoError(t, err)
	_, err = admin.AlarmDisarm(t.Context(), &clientv3.AlarmMember{})
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, claim(t, s, of(100, "a", long)).Status)
}

func TestForeignValueIsNamedAndLeftAlone(t *testing.T) {
	t.Parallel()
	config := configOf(server(t))
	name := prefix()
	s := open(t, config, etcdlease.WithPrefix(name))
	admin, err := clientv3.New(config)
	require.NoError(t, err)
	defer func() { _ = admin.Close() }()
	for _, text := range []string{"something else", `{"f":99}`, `{"f":2,"Data":100}` + "\nshort"} {
		_, err = admin.Put(t.Context(), name+"/fleet/item/job", text)
		require.NoError(t, err)
		_, err = s.Sync(t.Context(), []protocol.Sync{{Name: "job"}})
		require.ErrorIs(t, err, protocol.ErrRecord, text)
		require.Contains(t, err.Error(), "item/job")
		kept, err := admin.Get(t.Context(), name+"/fleet/item/job")
		require.NoError(t, err)
		require.Equal(t, text, string(kept.Kvs[0].Value))
	}
	require.NoError(t, s.Check(t.Context()), "other keys work")
}
