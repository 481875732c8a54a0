package zklease_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/zklease"
)

func read(ctx context.Context, s *zklease.Store, key string) driver.Result {
	return s.Values().Do(ctx, []driver.Op{{Key: key}})[0]
}

func change(ctx context.Context, s *zklease.Store, key string, c driver.Change) driver.Result {
	return s.Values().Do(ctx, []driver.Op{{Key: key, Change: &c}})[0]
}

// changed makes a change of a value, and returns its version.
func changed(t *testing.T, s *zklease.Store, key string, from driver.Version, text string) driver.Version {
	t.Helper()
	res := change(t.Context(), s, key, driver.Change{From: from, ID: text, Data: []byte(text)})
	require.NoError(t, res.Err)
	require.Equal(t, driver.Done, res.Status)
	return res.Version
}

// again calls f until it succeeds.
func again(t *testing.T, f func() error) {
	t.Helper()
	var err error
	for bound := time.Now().Add(2 * time.Minute); time.Now().Before(bound); time.Sleep(50 * time.Millisecond) {
		if err = f(); err == nil {
			return
		}
	}
	require.NoError(t, err)
}

func readAgain(t *testing.T, s *zklease.Store, key string) (res driver.Result) {
	t.Helper()
	again(t, func() error {
		res = read(t.Context(), s, key)
		return res.Err
	})
	return res
}

func TestServerMayGoAndComeBack(t *testing.T) {
	t.Parallel()
	server := single.take(t)[0]
	slow := open(t, server.Addr(), "")
	s := open(t, server.Addr(), strings.TrimPrefix(slow.Path(), "/solotick/"), zklease.WithTimeout(300*time.Millisecond))
	first := changed(t, slow, "job", driver.Version{}, "first")
	for _, fault := range []struct{ begin, end func() }{
		{func() { server.Freeze(t) }, func() { server.Thaw(t) }},
		{server.Kill, func() { server.Restart(t) }},
	} {
		fault.begin()
		began := time.Now()
		res := change(t.Context(), s, "job", driver.Change{From: first, ID: "unanswered", Data: []byte("x")})
		require.ErrorContains(t, res.Err, "zklease: ")
		require.NotErrorIs(t, res.Err, protocol.ErrPermanent)
		require.Contains(t, s.Hint(res.Err), "check that the servers of ZooKeeper run")
		require.Less(t, time.Since(began), 30*time.Second)
		fault.end()
		now := readAgain(t, s, "job").Value.Version
		if now != first { // it was made after all
			require.Equal(t, "unanswered", now.ID)
		}
		again(t, func() error {
			res := change(t.Context(), s, "job", driver.Change{From: now, ID: "next", Data: []byte("next")})
			if first = res.Version; res.Status == driver.Conflict {
				now = res.Value.Version
				return context.Canceled
			}
			return res.Err
		})
	}
}

func TestLostConnectionEndsItsSession(t *testing.T) {
	t.Parallel()
	proxy := proxytest.New(t, shared.Addr())
	s := open(t, "alice:secret@"+proxy.Addr()+"/"+fresh(), "")
	version := driver.Version{}
	for n := range 5 {
		version = changed(t, s, "job", version, fmt.Sprint(n))
		ended := s.Sessions()
		proxy.Cut()
		proxy.Heal()
		again(t, func() error {
			if s.Sessions() == ended {
				return context.DeadlineExceeded
			}
			return nil
		})
		require.Equal(t, version, readAgain(t, s, "job").Value.Version)
	}
}

func TestEndedSessionComesBack(t *testing.T) {
	t.Parallel()
	proxy := proxytest.New(t, shared.Addr())
	s := open(t, proxy.Addr(), "", zklease.WithSessionTimeout(2*time.Second))
	other := open(t, shared.Addr(), strings.TrimPrefix(s.Path(), "/solotick/"))
	first := changed(t, s, "job", driver.Version{}, "first")
	missed, notified := make(chan struct{}, 16), make(chan string, 16)
	go func() {
		for t.Context().Err() == nil {
			_ = s.Values().Subscribe(t.Context(), func(n driver.Notification) {
				if n.Name == "" {
					missed <- struct{}{}
				} else {
					notified <- n.Name
				}
			})
		}
	}()
	<-missed
	proxy.Partition()
	second := changed(t, other, "job", first, "second")
	again(t, func() error { // until the servers and the client have given up the session
		if s.Sessions() == 0 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			return read(ctx, s, "job").Err
		}
		return nil
	})
	proxy.Heal()
	<-missed
	res := change(t.Context(), s, "job", driver.Change{From: first, ID: "late", Data: []byte("late")})
	require.NoError(t, res.Err)
	require.Equal(t, driver.Conflict, res.Status)
	require.Equal(t, second, res.Value.Version)
	again(t, func() error {
		c := driver.Change{From: second, Data: []byte("more"), Notify: []driver.Notification{{Name: "job", Tick: 3}}}
		second = change(t.Context(), other, "job", c).Version
		select {
		case <-notified:
			return nil
		case <-time.After(100 * time.Millisecond):
			return context.DeadlineExceeded
		}
	})
}

func TestRestoredBackupIsNoticed(t *testing.T) {
	t.Parallel()
	server := single.take(t)[0]
	s := open(t, server.Addr(), "")
	v1 := changed(t, s, "job", driver.Version{}, "one")
	_, since, err := s.Time(t.Context())
	require.NoError(t, err)
	backup := server.Backup(t)
	var v2 driver.Version
	again(t, func() error {
		res := change(t.Context(), s, "job", driver.Change{From: v1, ID: "two", Data: []byte("two")})
		v2 = res.Version
		return res.Err
	})
	for range 20 { // the servers refuse a session that has seen more than the backup has
		changed(t, s, "other", read(t.Context(), s, "other").Value.Version, "more")
	}

	raw := open(t, server.Addr(), "")
	put(t, raw, "item/a", "seen", 0)
	wentBack := make(chan struct{})
	go func() {
		for t.Context().Err() == nil {
			err := raw.Medium().Watch(t.Context(), func(string, casstore.Kept) {}, func() {})
			if errors.Is(err, casstore.ErrWentBack) {
				close(wentBack)
				return
			}
		}
	}()

	server.Restore(t, backup)
	<-wentBack
	require.Equal(t, v1, readAgain(t, s, "job").Value.Version)
	other := changed(t, open(t, server.Addr(), strings.TrimPrefix(s.Path(), "/solotick/")), "job", v1, "other")
	require.NotEqual(t, v2, other)
	require.Greater(t, other.Stamp, v2.Stamp)
	require.Equal(t, driver.Conflict, change(t.Context(), s, "job", driver.Change{From: v2, ID: "late", Data: []byte("late")}).Status)

	server.Restore(t, "")
	var now time.Time
	again(t, func() error {
		now, _, err = s.Time(t.Context())
		return err
	})
	_, later, err := s.Time(t.Context())
	require.NoError(t, err)
	require.True(t, later.After(since), "it remembers nothing from before")
	require.False(t, later.After(now.Add(time.Second)))
	require.Zero(t, read(t.Context(), s, "job").Value)
}

func TestLeadersClockIsTheFleets(t *testing.T) {
	t.Parallel()
	server := single.take(t)[0]
	s := open(t, server.Addr(), "")
	now := func() time.Time {
		now, _, err := s.Time(t.Context())
		require.NoError(t, err)
		return now
	}
	require.WithinDuration(t, time.Now(), now(), 10*time.Second)
	for _, ahead := range []time.Duration{time.Hour, 0} {
		server.SetClock(t, ahead)
		again(t, func() error {
			if now().Sub(time.Now().Add(ahead)).Abs() > time.Minute {
				return context.DeadlineExceeded
			}
			return nil
		})
	}
}

func TestEnsembleLosesNothing(t *testing.T) {
	t.Parallel()
	servers := ensemble.take(t)
	var addrs []string
	for _, s := range servers {
		addrs = append(addrs, s.Addr())
	}
	s := open(t, strings.Join(addrs, ","), "", zklease.WithTimeout(time.Second), zklease.WithSessionTimeout(4*time.Second))
	slow := open(t, strings.Join(addrs, ","), strings.TrimPrefix(s.Path(), "/solotick/"))
	version := changed(t, slow, "job", driver.Version{}, "first")
	for i, server := range servers { // one of them is the leader
		fault, heal := server.Kill, func() { server.Restart(t) }
		if i == 1 {
			fault, heal = func() { server.Freeze(t) }, func() { server.Thaw(t) }
		}
		fault()
		c := driver.Change{From: version, ID: "without-" + server.Addr()[10:], Data: []byte("x")}
		again(t, func() error {
			res := change(t.Context(), s, "job", c)
			if version = res.Version; res.Err == nil {
				require.Equal(t, driver.Done, res.Status)
			}
			return res.Err
		})
		heal()
	}
	for _, server := range servers {
		one := open(t, server.Addr(), strings.TrimPrefix(s.Path(), "/solotick/"))
		require.Equal(t, version, readAgain(t, one, "job").Value.Version)
	}
}

func TestFollowerThatLagsIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	servers := ensemble.take(t)
	writer := open(t, servers[1].Addr()+","+servers[2].Addr(), "", zklease.WithSessionTimeout(time.Minute))
	lagging := servers[0] // of all that vote, the one with the least number does not lead
	reader := open(t, lagging.Addr(), strings.TrimPrefix(writer.Path(), "/solotick/"), zklease.WithSessionTimeout(time.Minute))
	revision := put(t, writer, "item/a", "0", 0)
	require.Equal(t, "0", string(get(t, reader, "item/a").Data))
	for i := range 20 {
		lagging.Freeze(t)
		text := strings.Repeat("x", i+1)
		kept, ok, err := writer.Medium().Put(t.Context(), "item/a", []byte(text), revision)
		require.NoError(t, err)
		require.True(t, ok)
		revision = kept.Revision
		read := make(chan string, 1)
		go func() {
			list := make([]casstore.Kept, 1)
			var err error
			if i%2 == 0 {
				list, err = reader.Medium().Get(t.Context(), []string{"item/a"})
			} else { // a conflict has the present value, too
				list[0], _, err = reader.Medium().Put(t.Context(), "item/a", []byte("late"), 1)
			}
			if err != nil {
				read <- err.Error()
				return
			}
			read <- string(list[0].Data)
		}()
		lagging.Thaw(t)
		require.Equal(t, text, <-read)
	}
}
