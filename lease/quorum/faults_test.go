package quorum_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/quorumnode"
	"github.com/solotick/solotick/lease/quorum"
	"github.com/solotick/solotick/lease/redislease"
)

func claimOf(name string, tick int64, holder string, ttl time.Duration) protocol.Claim {
	return protocol.Claim{Name: name, Tick: tick, Holder: holder, Request: holder + "-r", TTL: ttl, Takeovers: 3}
}

func grantOf(c protocol.Claim, a protocol.Answer) protocol.Grant {
	return protocol.Grant{
		Name: c.Name, Tick: c.Tick, Holder: c.Holder, Request: c.Request,
		Token: a.Token, Attempt: a.Attempt, Takeovers: a.Takeovers, TTL: c.TTL,
	}
}

func claimed(t testing.TB, s protocol.Store, want protocol.Status, c protocol.Claim) protocol.Answer {
	t.Helper()
	a, err := s.Claim(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, want.String(), a.Status.String())
	return a
}

func synced(t testing.TB, s protocol.Store, names ...string) {
	t.Helper()
	syncs := make([]protocol.Sync, len(names))
	for i, name := range names {
		syncs[i].Name = name
	}
	_, err := s.Sync(t.Context(), syncs)
	require.NoError(t, err)
}

// settle lets nodes and stores finish their pending calls.
func settle() { synctest.Wait() }

// The schedule in which a node that was emptied, had it a say, would let a tick be granted to two:
// it was one of the two that granted it, and the third does not know.
func TestEmptiedNodeHasNoVoteForATTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list, quorum.WithTTL(20*time.Second))
		synced(t, s, "job")
		time.Sleep(time.Minute)
		list[2].set(true)
		c := claimOf("job", 100, "a", 20*time.Second)
		grant := grantOf(c, claimed(t, s, protocol.Granted, c))
		settle()
		emptied := time.Now()
		list[1].empty()
		list[2].set(false)
		list[0].set(true)

		other := openFake(t, list, quorum.WithTTL(20*time.Second))
		_, err := other.Claim(t.Context(), claimOf("job", 100, "b", 20*time.Second))

		require.ErrorIs(t, err, quorum.ErrRestarted)
		var short *quorum.MajorityError
		require.ErrorAs(t, err, &short)
		require.Equal(t, 1, short.Answered)
		require.Equal(t, 1, short.Restarted)
		require.Greater(t, short.Wait, 20*time.Second)
		require.LessOrEqual(t, short.Wait, 22*time.Second)
		require.ErrorContains(t, err, "node-0: connection refused")

		// With the one that remembers it goes on at once, and the one that was emptied catches up
		// on the way.
		list[0].set(false)
		claimed(t, other, protocol.Held, claimOf("job", 100, "b", 20*time.Second))
		require.NoError(t, other.Renew(t.Context(), []protocol.Grant{grant})[0])
		settle()
		time.Sleep(time.Until(emptied.Add(short.Wait)))
		list[0].set(true)
		require.NoError(t, other.Settle(t.Context(), grant, "succeeded"))
		claimed(t, other, protocol.Decided, claimOf("job", 100, "b", 20*time.Second))
	})
}

// A promise that a node has forgotten does not let its proposal through later.
func TestPromiseThatWasForgottenIsWorthNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(1)
		n := list[0]
		before := n.carryOut([]quorumnode.Op{{Key: "k", Ballot: "2"}})
		require.True(t, before.Replies[0].OK)
		n.empty()
		time.Sleep(time.Second)
		require.True(t, n.carryOut([]quorumnode.Op{{Key: "k", Ballot: "1", Accept: true, Value: "new"}}).Replies[0].OK)

		late := n.carryOut([]quorumnode.Op{{Key: "k", Ballot: "2", Accept: true, Value: "old", Since: before.Since}})

		require.False(t, late.Replies[0].OK)
		require.Equal(t, "new", n.carryOut([]quorumnode.Op{{Key: "k"}}).Replies[0].Value)
	})
}

func TestNewNamespaceCountsAfterATTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		nodes := []quorum.Node{list[0], list[1], list[2]}
		s, err := quorum.New(nodes, "default", quorum.WithTTL(10*time.Second))
		require.NoError(t, err)
		defer func() { _ = s.Close() }()
		_, _, err = s.Time(t.Context())
		require.ErrorIs(t, err, quorum.ErrRestarted)
		var short *quorum.MajorityError
		require.ErrorAs(t, err, &short)
		time.Sleep(short.Wait - time.Millisecond)
		_, _, err = s.Time(t.Context())
		require.ErrorIs(t, err, quorum.ErrRestarted)
		time.Sleep(time.Millisecond)
		_, _, err = s.Time(t.Context())
		require.NoError(t, err)
	})
}

func TestTTLsAboveTheLongestAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openFake(t, newFakeNodes(3), quorum.WithTTL(time.Second))
		synced(t, s, "job")
		_, err := s.Claim(t.Context(), claimOf("job", 100, "a", time.Second+1))
		require.ErrorContains(t, err, "WithTTL")
		c := claimOf("job", 100, "a", time.Second)
		g := grantOf(c, claimed(t, s, protocol.Granted, c))
		g.TTL++
		require.ErrorContains(t, s.Renew(t.Context(), []protocol.Grant{g})[0], "WithTTL")
	})
}

// Leases last as long as they should whichever of the nodes answer, though their clocks are minutes
// apart: no longer than the TTL, its drift and a round trip, and no shorter.
func TestLeasesLastTheirTTLThoughClocksDiffer(t *testing.T) {
	const ttl = 10 * time.Second
	for gone := range 3 {
		t.Run(fmt.Sprint("without node ", gone), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				list := newFakeNodes(3)
				list[0].offset, list[2].offset = 3*time.Minute, -4*time.Minute
				s := openFake(t, list)
				synced(t, s, "job")
				c := claimOf("job", 100, "a", ttl)
				g := grantOf(c, claimed(t, s, protocol.Granted, c))
				settle()
				list[gone].set(true)
				for range 3 { // others change the record, or look at it, and do not make the lease longer
					time.Sleep(ttl - 100*time.Millisecond)
					claimed(t, s, protocol.Held, claimOf("job", 100, "b", ttl))
					beside := claimOf("job", time.Now().UnixMilli(), "c", ttl)
					beside.Overlap = protocol.OverlapAllow
					b := grantOf(beside, claimed(t, s, protocol.Granted, beside))
					require.NoError(t, s.Settle(t.Context(), b, "succeeded"))
					require.NoError(t, s.Renew(t.Context(), []protocol.Grant{g})[0])
					settle()
					list[gone].set(false)
					gone = (gone + 1) % 3
					list[gone].set(true)
				}
				time.Sleep(ttl - 100*time.Millisecond)
				claimed(t, s, protocol.Held, claimOf("job", 100, "b", ttl))
				time.Sleep(100*time.Millisecond + ttl/100 + 2*time.Millisecond)
				a := claimed(t, s, protocol.Granted, claimOf("job", 100, "b", ttl))
				require.Equal(t, 2, a.Attempt)
				require.Greater(t, a.Token, g.Token)
			})
		})
	}
}

// A holder whose clock is slower than the nodes' still has its TTL: others are granted the tick a
// drift later, and Left says so.
func TestLeaseIsKeptForItsDrift(t *testing.T) {
	for _, ttl := range []time.Duration{20 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := openFake(t, newFakeNodes(3), quorum.WithTTL(time.Hour))
			synced(t, s, "job")
			claimed(t, s, protocol.Granted, claimOf("job", 100, "a", ttl))
			settle()
			time.Sleep(ttl)
			a := claimed(t, s, protocol.Held, claimOf("job", 100, "b", time.Second))
			require.Equal(t, ttl/100+2*time.Millisecond, a.Remaining)
			time.Sleep(a.Remaining - 1)
			claimed(t, s, protocol.Held, claimOf("job", 100, "b", time.Second))
			time.Sleep(time.Nanosecond)
			a = claimed(t, s, protocol.Granted, claimOf("job", 100, "b", time.Second))
			require.Equal(t, 2, a.Attempt)
		})
	}
}

// Tokens rise though a minority, and then another, forgets everything; and by the clock though all
// do.
func TestTokensRiseThoughNodesForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list, quorum.WithTTL(time.Second))
		last := int64(0)
		for i := range int64(12) {
			synced(t, s, "job")
			c := claimOf("job", 100+i, "a", time.Second)
			g := grantOf(c, claimed(t, s, protocol.Granted, c))
			require.Greater(t, g.Token, last)
			last = g.Token
			require.NoError(t, s.Settle(t.Context(), g, "succeeded"))
			settle()
			list[i%3].empty()
			if i%4 == 3 {
				list[(i+1)%3].empty()
				list[(i+2)%3].empty()
				_, _, err := s.Time(t.Context())
				require.ErrorIs(t, err, quorum.ErrRestarted)
			} else {
				_, _, err := s.Time(t.Context()) // from here on they remember
				require.NoError(t, err)
			}
			settle()
			time.Sleep(2 * time.Second)
		}
	})
}

func TestTimeShowsThatAMajorityForgot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list, quorum.WithTTL(time.Second))
		_, since, err := s.Time(t.Context())
		require.NoError(t, err)
		forget := func(n *fakeNode) time.Time {
			time.Sleep(5 * time.Second)
			n.empty()
			_, again, err := s.Time(t.Context())
			require.NoError(t, err)
			settle()
			return again
		}
		require.Equal(t, since, forget(list[0]))
		require.Equal(t, since, forget(list[0]))
		forget(list[1])
		_, later, err := s.Time(t.Context())
		require.NoError(t, err)
		require.True(t, later.After(since))
	})
}

func TestServerThatIsTwoNodesIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(2)
		s := openFake(t, []*fakeNode{list[0], list[1], list[0]})
		_, _, err := s.Time(t.Context())
		for range 3 {
			settle()
			_, _, err = s.Time(t.Context())
		}
		require.ErrorContains(t, err, "two nodes are the same server")
	})
}

func TestFaultyParametersAreRefusedAllAtOnce(t *testing.T) {
	_, err := quorum.New(nil, "a:b", quorum.WithTimeout(time.Millisecond), quorum.WithTTL(0))
	require.ErrorContains(t, err, "0 nodes, must be at least 3")
	require.ErrorContains(t, err, `namespace "a:b" must start with`)
	require.ErrorContains(t, err, "timeout 1ms must be at least 10ms")
	require.ErrorContains(t, err, "longest TTL 0s must be at least 1ms")
}

func TestClosedStoreFails(t *testing.T) {
	s := openFake(t, newFakeNodes(3))
	require.NoError(t, s.Close())
	_, _, err := s.Time(t.Context())
	require.ErrorContains(t, err, "the store is closed")
}

// An emptied node gets back the value that it has forgotten when a store reads it, and the value is
// as old there as anywhere.
func TestEmptiedNodeCatchesUpOnRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list, quorum.WithTTL(time.Hour))
		synced(t, s, "job")
		claimed(t, s, protocol.Granted, claimOf("job", 100, "a", time.Hour))
		settle()
		list[2].empty()
		look := quorumnode.Op{Key: "job"}
		for range 200 { // it has to be among the first to answer
			time.Sleep(10 * time.Second)
			claimed(t, s, protocol.Held, claimOf("job", 100, "b", time.Second))
			settle()
			if list[2].carryOut([]quorumnode.Op{look}).Replies[0].Accepted != "" {
				break
			}
		}
		theirs, own := list[0].carryOut([]quorumnode.Op{look}).Replies[0], list[2].carryOut([]quorumnode.Op{look}).Replies[0]
		require.Equal(t, theirs.Value, own.Value)
		require.Equal(t, theirs.Age, own.Age)
	})
}

func TestNodesOfAnotherNamespaceAreRefused(t *testing.T) {
	var nodes []quorum.Node
	for range 3 {
		client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
		n, err := redislease.NewNode(client, "mail")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, errors.Join(n.Close(), client.Close())) })
		nodes = append(nodes, n)
	}

	_, err := quorum.New(nodes, "billing")

	require.ErrorContains(t, err, `quorum: namespace "billing" must be that of the nodes, and node 127.0.0.1:1 has "mail"`)
	s, err := quorum.New(nodes, "mail")
	require.NoError(t, err)
	require.NoError(t, s.Close())
	require.Equal(t, "mail", s.Namespace())
}
