package redislease_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/driver/drivertest"
	"github.com/solotick/solotick/lease/redislease"
)

// medium is a driver.Store on which a store keeps its values.
type medium struct {
	*testing.T
	driver.Store
	ids int
}

// onMedium runs a test on one server and on a Cluster.
func onMedium(t *testing.T, test func(m *medium)) {
	srv := redistest.Start(t)
	cluster := startCluster(t)
	for name, client := range map[string]redis.UniversalClient{
		"one server": redis.NewClient(&redis.Options{Addr: srv.Addr()}),
		"cluster":    redis.NewClusterClient(cluster.options()),
	} {
		t.Run(name, func(t *testing.T) {
			test(&medium{T: t, Store: redislease.Medium(openFor(t, client, redislease.WithTimeout(10*time.Second)))})
		})
	}
}

// one carries out an operation.
func (m *medium) one(op driver.Op) driver.Result {
	m.Helper()
	r := m.Do(m.Context(), []driver.Op{op})[0]
	require.NoError(m, r.Err)
	return r
}

// change makes a change from a version, under a new id.
func (m *medium) change(key string, from driver.Version, c driver.Change) driver.Result {
	m.Helper()
	m.ids++
	c.From, c.ID = from, "r"+strconv.Itoa(m.ids)
	return m.one(driver.Op{Key: key, Change: &c})
}

// made wants a change to be made.
func (m *medium) made(key string, from driver.Version, c driver.Change) driver.Version {
	m.Helper()
	r := m.change(key, from, c)
	require.Equal(m, driver.Done, r.Status)
	return r.Version
}

func (m *medium) read(key string) driver.Value {
	m.Helper()
	return m.one(driver.Op{Key: key}).Value
}

func data(text string) driver.Change { return driver.Change{Data: []byte(text)} }

func TestValuesKeepTheContract(t *testing.T) {
	srv := redistest.Start(t)
	cluster := startCluster(t)
	for name, connect := range map[string]func() redis.UniversalClient{
		"one server": func() redis.UniversalClient { return redis.NewClient(&redis.Options{Addr: srv.Addr()}) },
		"cluster":    func() redis.UniversalClient { return redis.NewClusterClient(cluster.options()) },
	} {
		t.Run(name, func(t *testing.T) {
			drivertest.Run(t, func(t *testing.T) driver.Store {
				srv.Flush()
				for _, n := range cluster.nodes {
					n.Flush()
				}
				return redislease.Medium(openFor(t, connect()))
			})
		})
	}
}

func TestAListIsBoundedAndKnowsItsEntries(t *testing.T) {
	onMedium(t, func(m *medium) {
		entries := func(most int) (ids []string) {
			for _, e := range m.one(driver.Op{Key: "a", Newest: most}).List {
				require.Equal(t, "text of "+e.ID, string(e.Text))
				require.WithinDuration(t, time.Now(), e.At, time.Minute)
				ids = append(ids, e.ID)
			}
			return ids
		}
		entry := func(n, most int) driver.Entry {
			return driver.Entry{ID: fmt.Sprint("e", n), Text: []byte(fmt.Sprint("text of e", n)), Max: most}
		}
		m.one(driver.Op{Key: "a", Append: []driver.Entry{entry(1, 4), entry(2, 4)}})
		m.one(driver.Op{Key: "a", Append: []driver.Entry{entry(1, 4)}})
		require.Equal(t, []string{"e2", "e1"}, entries(100))
		require.Equal(t, driver.Version{}, m.read("a").Version)
		v := m.made("a", driver.Version{}, driver.Change{Data: []byte("x"), Append: []driver.Entry{entry(3, 4), entry(4, 4), entry(5, 4)}})
		require.Equal(t, []string{"e5", "e4", "e3", "e2"}, entries(100))
		require.Equal(t, []string{"e5"}, entries(1))
		v = m.made("a", v, driver.Change{Data: []byte("x"), Append: []driver.Entry{entry(6, 16)}})
		require.Equal(t, []string{"e6", "e5", "e4", "e3", "e2"}, entries(100))
		m.made("a", v, driver.Change{Data: []byte("x"), Append: []driver.Entry{entry(7, 2)}})
		require.Equal(t, []string{"e7", "e6"}, entries(100))
	})
}

func TestOneBadKeyFailsNoOther(t *testing.T) {
	srv := redistest.Start(t)
	values, admin := redislease.Medium(open(t, srv.Addr())), srv.Client(t)
	bad := map[string]func(key string) error{
		"text":    func(key string) error { return admin.Set(t.Context(), key, "another program's", 0).Err() },
		"hash":    func(key string) error { return admin.HSet(t.Context(), key, "their", "field").Err() },
		"version": func(key string) error { return admin.HSet(t.Context(), key, "s", "nonsense", "d", "x").Err() },
	}
	var ops []driver.Op
	for i := range 9 {
		ops = append(ops, driver.Op{Key: fmt.Sprint("good", i), Change: &driver.Change{ID: "r", Data: []byte("x")}})
	}
	for name, put := range bad {
		require.NoError(t, put(redislease.Key("default", name)))
		ops = append(ops, driver.Op{Key: name, Change: &driver.Change{ID: "r", Data: []byte("x")}})
	}
	for i, r := range values.Do(t.Context(), ops) {
		if bad[ops[i].Key] == nil {
			require.NoError(t, r.Err)
			continue
		}
		var fault *redislease.KeyError
		require.ErrorAs(t, r.Err, &fault, ops[i].Key)
		require.Equal(t, []string{redislease.Key("default", ops[i].Key)}, fault.Keys)
	}
}

func TestValueIsKeptWhileItIsUsed(t *testing.T) {
	srv := redistest.Start(t)
	m, admin, key := &medium{T: t, Store: redislease.Medium(open(t, srv.Addr()))}, srv.Client(t), redislease.Key("default", "a")
	life := func() time.Duration { return admin.PTTL(t.Context(), key).Val() }
	v := m.made("a", driver.Version{}, driver.Change{Data: []byte("x"), Keep: time.Hour, Leases: []driver.NewLease{{Holder: "h", TTL: time.Minute}}})
	require.InDelta(t, time.Hour, life(), float64(time.Minute))
	require.NoError(t, admin.PExpire(t.Context(), key, time.Minute).Err())
	m.one(driver.Op{Key: "a", Renew: &driver.Renewal{Token: v.Stamp, Holder: "h", TTL: time.Minute}})
	require.InDelta(t, time.Hour, life(), float64(time.Minute))
	v = m.made("a", v, data("for ever"))
	require.Equal(t, time.Duration(-1), life())
	m.made("a", v, driver.Change{})
	require.EqualValues(t, 0, admin.Exists(t.Context(), key).Val())
}

func TestANamespaceOfAnotherFormatIsRefused(t *testing.T) {
	srv := redistest.Start(t)
	admin := srv.Client(t)
	require.NoError(t, admin.Set(t.Context(), "solotick:{default}", time.Now().UnixMicro(), 0).Err()) // as releases before
	require.NoError(t, admin.HSet(t.Context(), "solotick:{later}", "format", "5").Err())
	require.NoError(t, admin.HSet(t.Context(), "solotick:{before}", "format", "2").Err())
	for namespace, format := range map[string]string{"default": "1", "later": "5", "before": "2"} {
		s := openIn(t, srv.Addr(), namespace)
		_, err := s.Claim(t.Context(), claimOf("job", 100, "a", "r"))
		var fault *redislease.FormatError
		require.ErrorAs(t, err, &fault)
		require.Equal(t, format, fault.Format)
		require.ErrorIs(t, err, protocol.ErrPermanent)
		require.ErrorContains(t, err, "use another namespace, or stop all replicas and delete the keys")
		_, err = s.ClaimLock(t.Context(), lockOf("job", "a", "r", 1, 1))
		require.ErrorAs(t, err, &fault)
		_, _, err = s.Time(t.Context())
		require.ErrorAs(t, err, &fault)
	}
	keys, err := admin.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	require.Len(t, keys, 3)

	// What a release before asks first fails on a namespace of this one.
	synced(t, openIn(t, srv.Addr(), "this"), "job")
	require.ErrorContains(t, admin.Get(t.Context(), "solotick:{this}").Err(), "WRONGTYPE")
}

func TestClaimThatLosesLearnsFromTheSameAnswer(t *testing.T) {
	r := newRig(t)
	other := open(t, r.srv.Addr())
	synced(t, r.store, "job")
	require.NoError(t, r.store.Settle(t.Context(), granted(t, r.store, claimOf("job", 100, "a", "r")), "succeeded"))
	winner := granted(t, other, claimOf("job", 101, "b", "r"))
	for _, want := range []struct {
		what string
		call func() error
	}{
		{"a claim that loses", func() error {
			a, err := r.store.Claim(t.Context(), claimOf("job", 101, "a", "r"))
			require.Equal(t, protocol.Held, a.Status)
			require.Equal(t, winner.Holder, a.Holder)
			return err
		}},
		{"one that wins thereafter", func() error {
			a, err := r.store.Claim(t.Context(), claimOf("job", 102, "a", "r"))
			require.Equal(t, protocol.Granted, a.Status)
			return err
		}},
	} {
		r.proxy.ResetCounts()
		require.NoError(t, want.call(), want.what)
		require.Equal(t, map[string]int{"EVALSHA": 1}, used(r.proxy), want.what)
	}
}

// Of a slot that moves some keys are here and some there, and a script that names both is answered
// by neither.
func TestBatchesOfAMovingSlotAreCarriedOut(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	m := &medium{T: t, Store: redislease.Medium(openFor(t, redis.NewClusterClient(c.options())))}
	var ops []driver.Op
	for i := 0; len(ops) < 20; i++ {
		key := fmt.Sprint("key", i)
		if strings.HasPrefix(redislease.Key("default", key), redislease.Key("default", "key0")[:len("solotick:{default/0")]) {
			ops = append(ops, driver.Op{Key: key, Change: &driver.Change{ID: "r", Data: []byte("x")}})
		}
	}
	all := func(ops []driver.Op) {
		for i, r := range m.Do(t.Context(), ops) {
			require.NoError(t, r.Err, ops[i].Key)
			require.Equal(t, driver.Done, r.Status)
		}
	}
	all(ops[:10])
	key := redislease.Key("default", ops[0].Key)
	slot, err := c.admins[0].ClusterKeySlot(t.Context(), key).Result()
	require.NoError(t, err)
	from := c.nodeOfKey(t, key)
	to := (from + 1) % 3
	id := func(node int) string { return c.admins[node].ClusterMyID(t.Context()).Val() }
	require.NoError(t, c.admins[to].Do(t.Context(), "cluster", "setslot", slot, "importing", id(from)).Err())
	require.NoError(t, c.admins[from].Do(t.Context(), "cluster", "setslot", slot, "migrating", id(to)).Err())
	keys := c.admins[from].ClusterGetKeysInSlot(t.Context(), int(slot), 1000).Val()
	require.NotEmpty(t, keys)
	host, port, _ := strings.Cut(c.nodes[to].Addr(), ":")
	for i, key := range keys {
		require.NoError(t, c.admins[from].Do(t.Context(), "migrate", host, port, key, 0, 5000).Err())
		if i >= len(keys)/2 {
			break
		}
	}
	all(ops) // the second half of them is new
}

// Callers whose operations travel together get their own answers.
func TestBatchedRequestsAreAnsweredOneByOne(t *testing.T) {
	onMedium(t, func(m *medium) {
		const callers = 200
		var working sync.WaitGroup
		errs := make([]error, callers)
		for i := range callers {
			working.Go(func() {
				key := fmt.Sprint("together", i)
				ctx, cancel := context.WithTimeout(m.Context(), 20*time.Second)
				defer cancel()
				var from driver.Version
				for n := range 20 {
					c := &driver.Change{From: from, ID: fmt.Sprint("r", n), Data: []byte(fmt.Sprint(key, n)), Essential: n%3 == 0}
					res := m.Do(ctx, []driver.Op{{Key: key, Change: c}, {Key: key}})
					if err := errors.Join(res[0].Err, res[1].Err); err != nil || res[0].Status != driver.Done || string(res[1].Value.Data) != string(c.Data) {
						errs[i] = fmt.Errorf("%+v %w", res, err)
						return
					}
					from = res[0].Version
				}
			})
		}
		working.Wait()
		require.NoError(m, errors.Join(errs...))
	})
}

func TestRenewalsOfOneRecordShareARoundTrip(t *testing.T) {
	r := newRig(t)
	synced(t, r.store, "job")
	grants := make([]protocol.Grant, 200)
	for i := range grants {
		grants[i] = granted(t, r.store, claimOf("job", int64(101+i), "a", "r"))
	}
	renewed := func() {
		for _, err := range r.store.Renew(t.Context(), grants) {
			require.NoError(t, err)
		}
	}
	renewed()
	r.proxy.ResetCounts()
	renewed()
	require.Equal(t, 1, r.proxy.RoundTrips())
}
