package quorum_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/quorum"
)

// do carries out one operation.
func do(t *testing.T, s *quorum.Store, op driver.Op) driver.Result {
	t.Helper()
	res := quorum.Values(s).Do(t.Context(), []driver.Op{op})[0]
	require.NoError(t, res.Err)
	return res
}

var changes int

// changeOf makes a change of "k" with an id of its own.
func changeOf(from driver.Version, data string) driver.Op {
	changes++
	return driver.Op{Key: "k", Change: &driver.Change{ID: fmt.Sprint("change-", changes), From: from, Data: []byte(data)}}
}

// leaveOver has a change of s conflict, which leaves a promise over, and returns the version that
// is there.
func leaveOver(t *testing.T, s *quorum.Store) driver.Version {
	t.Helper()
	first := do(t, s, changeOf(driver.Version{}, "first"))
	require.Equal(t, driver.Done, first.Status)
	settle() // any majority shows it now
	require.Equal(t, driver.Conflict, do(t, s, changeOf(driver.Version{}, "lost")).Status)
	settle()
	return first.Version
}

func TestPromiseLeftOverSavesARound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list)
		calls := func(f func()) int {
			settle()
			before := list[1].calls
			f()
			settle()
			return list[1].calls - before
		}
		version := leaveOver(t, s)
		require.Equal(t, 1, calls(func() { version = do(t, s, changeOf(version, "second")).Version }))
		require.Equal(t, 2, calls(func() { version = do(t, s, changeOf(version, "third")).Version }), "it was used twice")
		require.Equal(t, driver.Conflict, do(t, s, changeOf(driver.Version{}, "lost")).Status)
		time.Sleep(time.Second)
		require.Equal(t, 2, calls(func() { do(t, s, changeOf(version, "fourth")) }), "it was used after a second")
		require.Equal(t, "fourth", string(do(t, s, driver.Op{Key: "k"}).Value.Data))
	})
}

func TestPromiseLeftOverEndsWithOthersChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s, other := openFake(t, list), openFake(t, list)
		version := leaveOver(t, s)
		do(t, other, driver.Op{Key: "k"})
		theirs := do(t, other, changeOf(version, "theirs"))
		require.Equal(t, driver.Done, theirs.Status)

		res := do(t, s, changeOf(version, "lost"))

		require.Equal(t, driver.Conflict, res.Status)
		require.Equal(t, theirs.Version, res.Value.Version)
		require.Equal(t, "theirs", string(do(t, other, driver.Op{Key: "k"}).Value.Data))
	})
}

func TestConflictUnderPromiseLeftOverShowsPresentValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s, other := openFake(t, list), openFake(t, list)
		version := leaveOver(t, s)
		do(t, other, driver.Op{Key: "k"})
		theirs := do(t, other, changeOf(version, "theirs"))
		require.Equal(t, driver.Done, theirs.Status)

		res := do(t, s, changeOf(driver.Version{}, "lost"))

		require.Equal(t, driver.Conflict, res.Status)
		require.Equal(t, "theirs", string(res.Value.Data))
	})
}

// The lease was granted after the promise was given, and lasts from then on.
func TestLeaseUnderAnOlderPromiseLastsItsTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := openFake(t, newFakeNodes(3))
		version := leaveOver(t, s)
		time.Sleep(90 * time.Millisecond)
		op := changeOf(version, "held")
		op.Change.Leases = []driver.NewLease{{Holder: "a", TTL: time.Second}}
		granted := do(t, s, op)
		require.Equal(t, driver.Done, granted.Status)
		settle()
		time.Sleep(500 * time.Millisecond)
		res := do(t, s, driver.Op{Key: "k"})
		require.Equal(t, 512*time.Millisecond, res.Value.Leases[0].Ends.Sub(res.Now))

		takeover := func() driver.Status {
			op := changeOf(granted.Version, "taken over")
			op.Change.Ended = []int64{granted.Version.Stamp}
			return do(t, s, op).Status
		}
		require.Equal(t, driver.Conflict, takeover())
		time.Sleep(512*time.Millisecond - time.Nanosecond)
		require.Equal(t, driver.Conflict, takeover())
		time.Sleep(90 * time.Millisecond) // under the promise that this has left over
		require.Equal(t, driver.Done, takeover())
	})
}

// One node has promised long before the other, and measures the lease alone afterwards.
func TestLeaseUnderPromiseOfSlowRoundLastsItsTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list)
		do(t, s, driver.Op{Key: "k"})
		settle()
		list[2].set(true)
		list[1].meet(func() fault { return fault{after: 80 * time.Millisecond} })
		version := leaveOver(t, s)
		asked := time.Now()
		op := changeOf(version, "held")
		op.Change.Leases = []driver.NewLease{{Holder: "a", TTL: time.Second}}
		require.Equal(t, driver.Done, do(t, s, op).Status)
		settle()
		list[1].set(true)
		list[2].set(false)

		res := do(t, s, driver.Op{Key: "k"})

		require.GreaterOrEqual(t, res.Value.Leases[0].Ends.Sub(res.Now), time.Second-time.Since(asked))
	})
}
