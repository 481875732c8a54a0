package mysqllease_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/dbtest"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/mysqllease"
)

// pair is a primary, and a replica that follows it through a link.
type pair struct {
	primary, replica *dbtest.Server
	admin            *sql.DB // of the replica
	link, name       *proxytest.Proxy
	url              string // of a database, by the name of the service
}

// replicated starts a pair, with a user who may not write to a server that is read-only.
func replicated(t *testing.T) *pair {
	t.Helper()
	p := new(pair)
	var err error
	p.primary, err = dbtest.MariaDBPrimary(answers)
	require.NoError(t, err)
	t.Cleanup(p.primary.Kill)
	p.replica, err = dbtest.MariaDBReplica(answers)
	require.NoError(t, err)
	t.Cleanup(p.replica.Kill)
	p.link, p.name = proxytest.New(t, p.primary.Addr), proxytest.New(t, p.primary.Addr)
	p.admin, err = sql.Open("mysql", "root@tcp("+p.replica.Addr+")/")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.admin.Close()) })
	require.NoError(t, dbtest.FollowMariaDB(t.Context(), p.admin, p.link.Addr()))
	run(t, p.primary, "CREATE DATABASE d", "CREATE USER fleet@'%'", "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE ON d.* TO fleet@'%'")
	p.url = "mysql://fleet@" + p.name.Addr() + "/d"
	return p
}

// The host name leads to another server, and for a while back to the old one, which is a replica
// now.
func TestFailoverIsFollowedByName(t *testing.T) {
	t.Parallel()
	p := replicated(t)
	s := open(t, p.url, mysqllease.WithTimeout(5*time.Second))
	grantsNothingAlone(t, open(t, p.url, mysqllease.WithTimeout(2*time.Second)), p)
	v := changed(t, s, "job", driver.Version{}, "before")
	p.link.Cut()
	p.primary.Kill()
	require.NoError(t, dbtest.PromoteMariaDB(t.Context(), p.admin))
	p.name.Move(p.replica.Addr)
	require.Eventually(t, func() bool {
		res := change(t.Context(), s, "job", driver.Change{From: v, ID: "after", Data: []byte("after")})
		v = res.Version
		return res.Err == nil && res.Status == driver.Done
	}, time.Minute, 10*time.Millisecond)

	require.NoError(t, p.primary.Restart())
	run(t, p.primary, "SET GLOBAL read_only = ON")
	p.name.Move(p.primary.Addr)
	var err error
	require.Eventually(t, func() bool {
		err = change(t.Context(), s, "job", driver.Change{From: v, ID: "astray", Data: []byte("astray")}).Err
		return err != nil && s.Hint(err) == "name the primary: this server is read-only"
	}, time.Minute, 10*time.Millisecond)
	require.NotErrorIs(t, err, protocol.ErrPermanent)
	p.name.Move(p.replica.Addr)
	require.Eventually(t, func() bool {
		res := read(t.Context(), s, "job")
		return res.Err == nil && res.Value.Version == v
	}, time.Minute, 10*time.Millisecond)
	changed(t, s, "job", v, "again")
}

// grantsNothingAlone cuts the link to the replica for a while. With AFTER_COMMIT the primary shows
// what the replica does not have, so a caller that repeats a claim finds it.
func grantsNothingAlone(t *testing.T, s *mysqllease.Store, p *pair) {
	t.Helper()
	run(t, p.primary, "SET GLOBAL rpl_semi_sync_master_wait_point = AFTER_COMMIT")
	require.Eventually(t, func() bool {
		_, err := s.Sync(t.Context(), []protocol.Sync{{Name: "alone"}})
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	p.link.Cut()
	c := protocol.Claim{Name: "alone", Tick: 100, Holder: "a", Request: "once", TTL: time.Minute, Takeovers: 1}
	_, err := s.Claim(t.Context(), c)
	require.Error(t, err)
	require.Eventually(t, func() bool {
		list, err := s.Sync(t.Context(), []protocol.Sync{{Name: "alone"}})
		return err == nil && len(list[0].Open) == 1
	}, time.Minute, 10*time.Millisecond)
	_, err = s.Claim(t.Context(), c)
	require.Error(t, err, "the replica does not have it")
	p.link.Heal()
	require.Eventually(t, func() bool {
		a, err := s.Claim(t.Context(), c)
		return err == nil && a.Status == protocol.Granted
	}, time.Minute, 10*time.Millisecond)
}
