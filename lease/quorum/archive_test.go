package quorum_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/quorum"
)

const mostEntries = 128

func appendOf(n int) driver.Op {
	return driver.Op{Key: "k", Append: []driver.Entry{{ID: fmt.Sprint("e", n), Text: []byte(fmt.Sprint("text ", n)), Max: mostEntries}}}
}

// newest wants the list to have the entries up to last, newest first and each once.
func newest(t *testing.T, s *quorum.Store, last int) {
	t.Helper()
	var want, got []string
	for n := last; n > max(0, last-mostEntries); n-- {
		want = append(want, fmt.Sprint("e", n))
	}
	for _, e := range do(t, s, driver.Op{Key: "k", Newest: mostEntries}).List {
		got = append(got, e.ID)
	}
	require.Equal(t, want, got)
}

func TestListIsWholeWhicheverStoresAppend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		stores := []*quorum.Store{openFake(t, list), openFake(t, list), openFake(t, list)}
		for _, s := range stores {
			do(t, s, driver.Op{Key: "k"})
		}
		for n := 1; n <= 400; n++ {
			gone := list[rand.IntN(3)]
			gone.set(true)
			s := stores[rand.IntN(3)]
			do(t, s, appendOf(n))
			if rand.IntN(10) == 0 {
				do(t, s, appendOf(n)) // is the same entry
			}
			settle()
			if n%15 == 0 {
				newest(t, stores[rand.IntN(3)], n)
			}
			gone.set(false)
		}
	})
}

func TestRecordsCarryFewOfManyEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list)
		for n := 1; n <= 200; n++ {
			do(t, s, appendOf(n))
			settle()
			require.Less(t, len(list[0].registers["k"].value), 4<<10, "after %d entries", n)
		}
		newest(t, s, 200)
	})
}

// What could not be archived for want of memory is archived later.
func TestFullNodesLoseNoEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s := openFake(t, list)
		version := do(t, s, changeOf(driver.Version{}, "first")).Version
		for n := 1; n <= 400; n++ {
			for _, node := range list {
				node.fill(n > 20 && n < 200)
			}
			op := changeOf(version, "changed")
			op.Change.Append, op.Change.Essential = appendOf(n).Append, true
			res := do(t, s, op)
			require.Equal(t, driver.Done, res.Status)
			version = res.Version
			settle()
			newest(t, s, n)
		}
		require.Less(t, len(list[0].registers["k"].value), 4<<10)
		for _, node := range list {
			node.fill(true)
		}
		require.Error(t, quorum.Values(s).Do(t.Context(), []driver.Op{appendOf(401)})[0].Err)
	})
}

// entryID is the ID of an entry of [appendOf] in a register's value, which has random digits
// besides.
const entryID = `"e\d+"`

func TestRemovedKeyLeavesNoEntryBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		list := newFakeNodes(3)
		s, other := openFake(t, list), openFake(t, list)
		first := do(t, s, changeOf(driver.Version{}, "first"))
		for n := 1; n <= 50; n++ {
			do(t, s, appendOf(n))
		}
		settle()
		before := make([]fakeRegister, len(list))
		for i, n := range list {
			before[i] = *n.registers["list:k"]
			require.Regexp(t, entryID, before[i].value)
		}
		remove := changeOf(first.Version, "")
		remove.Change.Data = nil
		require.Equal(t, driver.Done, do(t, s, remove).Status)
		require.Empty(t, do(t, other, driver.Op{Key: "k", Newest: mostEntries}).List)
		settle()
		for _, n := range list {
			require.NotRegexp(t, entryID, n.registers["list:k"].value)
		}
		for i, n := range list { // as if the process had ended in between
			*n.registers["list:k"] = before[i]
		}
		time.Sleep(time.Second)
		require.Empty(t, do(t, other, driver.Op{Key: "k", Newest: mostEntries}).List)
		do(t, other, changeOf(driver.Version{}, "again"))
		for n := 1; n <= 40; n++ {
			do(t, []*quorum.Store{s, other}[n%2], appendOf(n))
			newest(t, other, n)
		}
	})
}
