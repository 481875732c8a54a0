package mysqllease_test

import (
	"database/sql"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
)

// A tick is a claim and a settlement, each a transaction. Those of one instant share theirs.
func TestTickCostsFewStatements(t *testing.T) {
	t.Parallel()
	server := own(t)
	s := open(t, databaseOn(t, server))
	db, err := sql.Open("mysql", "root@tcp("+server.Addr+")/")
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	questions := func() (n int) {
		var name string
		require.NoError(t, db.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &n))
		return n
	}
	var syncs []protocol.Sync
	for n := range 64 {
		syncs = append(syncs, protocol.Sync{Name: fmt.Sprint("job", n)})
	}
	_, err = s.Sync(t.Context(), syncs)
	require.NoError(t, err)
	const instants = 32
	tick := int64(0)
	perTick := func(names int) float64 {
		before := questions()
		for range instants {
			tick++
			errs := make(chan error, names)
			var due sync.WaitGroup
			for n := range names {
				due.Go(func() { errs <- claimAndSettle(t, s, syncs[n].Name, tick) })
			}
			due.Wait()
			for range names {
				require.NoError(t, <-errs)
			}
		}
		return float64(questions()-before) / float64(instants*names)
	}
	alone, together := perTick(1), perTick(len(syncs))
	t.Logf("statements of a tick: %.1f alone, %.2f of %d that are due together", alone, together, len(syncs))
	require.Less(t, alone, 11.0)
	require.Less(t, together, 3.0)
}

func claimAndSettle(t *testing.T, s protocol.Store, name string, tick int64) error {
	c := protocol.Claim{Name: name, Tick: tick, Holder: "a", Request: fmt.Sprint("r", tick), TTL: time.Minute, Takeovers: 1}
	a, err := s.Claim(t.Context(), c)
	if err != nil || a.Status != protocol.Granted {
		return fmt.Errorf("%s: %+v, %w", name, a, err)
	}
	g := protocol.Grant{Name: name, Tick: tick, Holder: c.Holder, Request: c.Request, Token: a.Token, Attempt: a.Attempt, Takeovers: 1, TTL: c.TTL}
	return s.Settle(t.Context(), g, "succeeded")
}
