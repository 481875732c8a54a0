// Package drivertest checks that a [driver.Store] keeps its contract: one case for each rule.
package drivertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
)

// Run runs the cases, each in a subtest with a store of its own that open opens.
func Run(t *testing.T, open func(t *testing.T) driver.Store) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(f *fixture)
	}{
		{"ValueIsThatOfItsLastChange", valueOfLastChange},
		{"FirstBytesComeWithStampAndLeases", firstBytes},
		{"ChangeFromAnotherVersionConflicts", otherVersion},
		{"RepeatedChangeIsMadeOnce", repeated},
		{"ChangeOutOfItsTimeChangesNothing", outOfTime},
		{"LeaseOutlivesWhoeverTakesItToHaveEnded", notEnded},
		{"EndedLeaseIsTakenOver", ended},
		{"StampsRiseThroughRemoval", stamps},
		{"RenewalExtendsAndLeavesTheVersion", renewal},
		{"RenewalNeedsTokenHolderAndNoStop", renewalRefused},
		{"LateRenewalExtends", lateRenewal},
		{"OperationsOfOneKeyGoInOrder", inOrder},
		{"ConflictHoldsUpNoOtherKey", independent},
		{"ListKeepsTheNewestOnce", lists},
		{"RemovalTakesTheListWithIt", removal},
		{"ScanListsWhatHasAValue", scans},
		{"NotificationsFollowChanges", notifications},
		{"OneOfManyWins", race},
		{"EndedContextIsAnError", endedContext},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(&fixture{T: t, s: open(t)}) })
	}
	runIndex(t, open)
}

type fixture struct {
	*testing.T
	s   driver.Store
	ids int
}

const key = "job"

func (f *fixture) do(op driver.Op) driver.Result {
	f.Helper()
	res := f.s.Do(f.Context(), []driver.Op{op})
	require.Len(f, res, 1)
	require.NoError(f, res[0].Err)
	require.WithinDuration(f, f.now(), res[0].Now, 10*time.Second)
	return res[0]
}

func (f *fixture) now() time.Time {
	f.Helper()
	now, since, err := f.s.Time(f.Context())
	require.NoError(f, err)
	require.False(f, since.After(now))
	return now
}

func (f *fixture) read() driver.Value {
	f.Helper()
	res := f.do(driver.Op{Key: key})
	require.Equal(f, driver.Done, res.Status)
	return res.Value
}

func (f *fixture) id() string {
	f.ids++
	return fmt.Sprint("change-", f.ids)
}

// change makes a change and returns the version that it made.
func (f *fixture) change(key string, c driver.Change) driver.Version {
	f.Helper()
	c.ID = f.id()
	res := f.do(driver.Op{Key: key, Change: &c})
	require.Equal(f, driver.Done, res.Status)
	if c.Data != nil {
		require.Equal(f, c.ID, res.Version.ID)
	}
	return res.Version
}

func (f *fixture) try(c driver.Change) driver.Result {
	f.Helper()
	c.ID = f.id()
	return f.do(driver.Op{Key: key, Change: &c})
}

func (f *fixture) renew(token int64, holder string) driver.Status {
	f.Helper()
	return f.do(driver.Op{Key: key, Renew: &driver.Renewal{Token: token, Holder: holder, TTL: time.Hour}}).Status
}

// grant makes a value with one lease, and returns its version.
func (f *fixture) grant(ttl time.Duration) driver.Version {
	f.Helper()
	return f.change(key, driver.Change{Data: []byte("held"), Leases: []driver.NewLease{{Holder: "a", TTL: ttl}}})
}

// kept is for how long a lease of ttl is kept at most.
func kept(ttl time.Duration) time.Duration { return ttl + ttl/50 + 5*time.Millisecond }

// outlast returns when the store's clock has passed the end of every lease.
func (f *fixture) outlast() {
	f.Helper()
	ends := f.read().Leases[0].Ends
	require.Eventually(f, func() bool { return f.now().After(ends) }, 20*time.Second, time.Millisecond)
}
