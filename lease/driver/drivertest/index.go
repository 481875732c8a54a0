package drivertest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
)

// runIndex runs the cases of a store that implements [driver.Index].
func runIndex(t *testing.T, open func(t *testing.T) driver.Store) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(f *indexed)
	}{
		{"DueKeysComeInOrder", dueInOrder},
		{"DueAtUntilIsListed", dueUntil},
		{"CountHoldsForEachShare", dueCount},
		{"ChangeMovesItsKey", dueMoves},
		{"ChangeThatIsNotMadeLeavesTheIndex", dueStays},
		{"RepeatedChangeLeavesTheIndex", dueRepeated},
		{"IndexHasTheDueTimeOfTheWinner", dueOfWinner},
		{"JobsAndOtherKeysAreApart", dueApart},
		{"LongestKeysAreKept", longestKeys},
		{"KeysOfAJobAreListedInOrder", listedInOrder},
		{"RemovalOfNothingTakesNothingOfOthers", removalOfNothing},
		{"IndexIsThatOfAModel", dueModel},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			if _, ok := s.(driver.Index); !ok {
				t.Skip("the store has no index")
			}
			c.run(newIndexed(t, s))
		})
	}
}

func newIndexed(t *testing.T, s driver.Store) *indexed {
	t.Helper()
	f := &fixture{T: t, s: s}
	return &indexed{fixture: f, index: s.(driver.Index), base: f.now().Truncate(time.Millisecond)}
}

// indexed is a fixture with an index. Its due times are in milliseconds after base.
type indexed struct {
	*fixture
	index driver.Index
	base  time.Time
}

func (f *indexed) at(milli int) time.Time { return f.base.Add(time.Duration(milli) * time.Millisecond) }

var allShares = func() (all []int) {
	for i := range driver.Shares {
		all = append(all, i)
	}
	return all
}()

// due lists keys with their due times.
func (f *indexed) due(job string, shares []int, until, count int) []string {
	f.Helper()
	keys, err := f.index.Due(f.Context(), job, shares, f.at(until), count)
	require.NoError(f, err)
	list := []string{}
	for _, k := range keys {
		list = append(list, dueText(k.Key, int(k.At.Sub(f.base)/time.Millisecond)))
		require.Zero(f, k.At.Nanosecond()%1e6)
	}
	return list
}

func dueText(key string, milli int) string { return fmt.Sprint(key, " ", milli) }

// all lists all keys of a job.
func (f *indexed) all(job string) []string {
	f.Helper()
	return f.due(job, allShares, 1e9, 1000)
}

func (f *indexed) put(key string, from driver.Version, milli int) driver.Version {
	f.Helper()
	return f.change(key, driver.Change{From: from, Data: []byte("value"), Due: f.at(milli)})
}

// sameShare returns n keys of job that are in one share.
func sameShare(job string, n int) (keys []string) {
	for i := 0; len(keys) < n; i++ {
		if key := fmt.Sprint(job, "/k", i); driver.ShareOf(key) == driver.ShareOf(job+"/k0") {
			keys = append(keys, key)
		}
	}
	return keys
}

func dueInOrder(f *indexed) {
	require.Empty(f, f.all("job"))
	var want []string
	for i := range 40 {
		key := fmt.Sprint("job/n", i)
		milli := i * 7 % 40 * 1000
		f.put(key, driver.Version{}, milli)
		want = append(want, dueText(key, milli))
	}
	slices.SortFunc(want, func(a, b string) int { return cmp.Compare(milliOf(a), milliOf(b)) })
	require.Equal(f, want, f.all("job"))
	require.Equal(f, want[:20], f.due("job", allShares, 19999, 1000))
	require.Len(f, f.scan("job/", 1000), 40)
}

func milliOf(text string) (milli int) {
	_, _ = fmt.Sscan(text[strings.IndexByte(text, ' '):], &milli)
	return milli
}

func dueUntil(f *indexed) {
	f.put("job/past", driver.Version{}, -86400000)
	f.put("job/whole", driver.Version{}, 5)
	f.change("job/part", driver.Change{Data: []byte("value"), Due: f.at(5).Add(time.Nanosecond)})
	require.Equal(f, []string{"job/past -86400000"}, f.due("job", allShares, 4, 9))
	require.Equal(f, []string{"job/past -86400000", "job/whole 5"}, f.due("job", allShares, 5, 9))
	require.Equal(f, []string{"job/past -86400000", "job/whole 5", "job/part 6"}, f.due("job", allShares, 6, 9))
	keys, err := f.index.Due(f.Context(), "job", allShares, f.at(6).Add(-time.Nanosecond), 9)
	require.NoError(f, err)
	require.Len(f, keys, 2)
	f.change("job/first", driver.Change{Data: []byte("value"), Due: time.Unix(-60, 0)})
	keys, err = f.index.Due(f.Context(), "job", allShares, f.at(9), 9)
	require.NoError(f, err)
	require.Len(f, keys, 4)
	require.Equal(f, "job/first", keys[0].Key)
}

func dueCount(f *indexed) {
	keys := sameShare("job", 4)
	for i, key := range keys {
		f.put(key, driver.Version{}, 100-i)
	}
	other := "job/other"
	require.NotEqual(f, driver.ShareOf(keys[0]), driver.ShareOf(other))
	f.put(other, driver.Version{}, 98)
	earliest := []string{dueText(keys[3], 97), dueText(other, 98), dueText(keys[2], 98)}
	got := f.due("job", []int{driver.ShareOf(keys[0]), driver.ShareOf(other)}, 1000, 2)
	require.ElementsMatch(f, earliest, got)
	require.Equal(f, earliest[0], got[0])
	require.Equal(f, earliest[:1], f.due("job", []int{driver.ShareOf(keys[0])}, 1000, 1))
	require.Equal(f, earliest[1:2], f.due("job", []int{driver.ShareOf(other)}, 1000, 9))
	none := (driver.ShareOf(keys[0]) + 1) % driver.Shares
	if none == driver.ShareOf(other) {
		none = (none + 1) % driver.Shares
	}
	require.Empty(f, f.due("job", []int{none}, 1000, 9))
	require.Empty(f, f.due("job", nil, 1000, 9))
}

func dueMoves(f *indexed) {
	v := f.put("job/a", driver.Version{}, 30)
	f.put("job/b", driver.Version{}, 20)
	v = f.put("job/a", v, 10)
	require.Equal(f, []string{"job/a 10", "job/b 20"}, f.all("job"))
	v = f.change("job/a", driver.Change{From: v, Data: []byte("value")})
	require.Equal(f, []string{"job/b 20"}, f.all("job"))
	v = f.put("job/a", v, 40)
	require.Equal(f, []string{"job/b 20", "job/a 40"}, f.all("job"))
	f.change("job/a", driver.Change{From: v, Due: f.at(50)})
	require.Equal(f, []string{"job/b 20"}, f.all("job"))
	f.put("job/a", driver.Version{}, 60)
	require.Equal(f, []string{"job/b 20", "job/a 60"}, f.all("job"))
}

func dueStays(f *indexed) {
	v := f.change("job/a", driver.Change{
		Data: []byte("value"), Due: f.at(10), Leases: []driver.NewLease{{Token: 7, Holder: "h", TTL: time.Hour}},
	})
	want := []string{"job/a 10"}
	for _, c := range []driver.Change{
		{},
		{Data: []byte("lost"), Due: f.at(20)},
		{From: v, Data: []byte("lost"), Due: f.at(20), Ended: []int64{7}},
	} {
		c.ID = f.id()
		require.Equal(f, driver.Conflict, f.do(driver.Op{Key: "job/a", Change: &c}).Status)
		require.Equal(f, want, f.all("job"))
	}
	for _, c := range []driver.Change{{NotBefore: f.now().Add(time.Minute)}, {NotAfter: f.now().Add(-time.Minute), Data: []byte("lost")}} {
		c.From, c.ID = v, f.id()
		require.Equal(f, driver.OutOfBounds, f.do(driver.Op{Key: "job/a", Change: &c}).Status)
		require.Equal(f, want, f.all("job"))
	}
	require.Equal(f, driver.Done, f.do(driver.Op{Key: "job/a", Renew: &driver.Renewal{Token: 7, Holder: "h", TTL: time.Minute}}).Status)
	f.do(driver.Op{Key: "job/a", Append: []driver.Entry{{ID: "e", Text: []byte("text"), Max: 4}}})
	require.Equal(f, want, f.all("job"))
}

func dueRepeated(f *indexed) {
	c := driver.Change{ID: "same", Data: []byte("once"), Due: f.at(10)}
	for _, due := range []time.Time{f.at(10), f.at(10), f.at(20), {}} {
		c.Due = due
		require.Equal(f, driver.Done, f.do(driver.Op{Key: "job/a", Change: &c}).Status)
		require.Equal(f, []string{"job/a 10"}, f.all("job"))
	}
}

func dueOfWinner(f *indexed) {
	first := f.put("job/a", driver.Version{}, 1000)
	var wg sync.WaitGroup
	results := make([]driver.Result, 16)
	for i := range results {
		wg.Go(func() {
			c := driver.Change{ID: fmt.Sprint("racer-", i), From: first, Data: []byte("value"), Due: f.at(i)}
			results[i] = f.s.Do(f.Context(), []driver.Op{{Key: "job/a", Change: &c}})[0]
		})
	}
	wg.Wait()
	won := slices.Index(statuses(f.fixture, results), driver.Done)
	require.Equal(f, []string{dueText("job/a", won)}, f.all("job"))
}

func removalOfNothing(f *indexed) {
	for i := range 60 {
		key := fmt.Sprint("job/k", i)
		var wg sync.WaitGroup
		for range 4 {
			remove := driver.Change{ID: f.id()}
			wg.Go(func() { f.s.Do(f.Context(), []driver.Op{{Key: key, Change: &remove}}) })
		}
		v := f.put(key, driver.Version{}, i)
		wg.Wait()
		require.Equal(f, v, f.do(driver.Op{Key: key}).Value.Version)
		require.Equal(f, []string{dueText(key, i)}, f.all("job"))
		f.change(key, driver.Change{From: v})
	}
}

func dueApart(f *indexed) {
	for i, key := range []string{"job/a", "job-2/a", "jo/b", "job.a/x"} {
		f.put(key, driver.Version{}, i)
	}
	for _, key := range []string{"job", "lock:a", "progress:job/b"} {
		f.put(key, driver.Version{}, 9)
	}
	for job, want := range map[string][]string{
		"job": {"job/a 0"}, "job-2": {"job-2/a 1"}, "jo": {"jo/b 2"}, "job.a": {"job.a/x 3"}, "": {}, "a": {}, "lock:a": {}, "progress:job": {},
	} {
		require.Equal(f, want, f.all(job), job)
	}
}

// Apart checks that what is in the index of one of two stores, such as of two namespaces, is not in
// that of the other.
func Apart(t *testing.T, one, other driver.Store) {
	t.Helper()
	a, b := newIndexed(t, one), newIndexed(t, other)
	b.base = a.base
	v := a.put("job/a", driver.Version{}, 1)
	b.put("job/a", driver.Version{}, 2)
	require.Equal(t, []string{"job/a 1"}, a.all("job"))
	require.Equal(t, []string{"job/a 2"}, b.all("job"))
	keys := sameShare("job", 2)
	a.put(keys[0], driver.Version{}, 4)
	b.put(keys[1], driver.Version{}, 3)
	require.Equal(t, []string{dueText(keys[0], 4)}, a.due("job", []int{driver.ShareOf(keys[0])}, 9, 1))
	a.change(keys[0], driver.Change{From: a.do(driver.Op{Key: keys[0]}).Version})
	a.change("job/a", driver.Change{From: v})
	require.Empty(t, a.all("job"))
	require.Equal(t, []string{"job/a 2", dueText(keys[1], 3)}, b.all("job"))
}

// Expires checks that a key whose value is not kept any longer leaves the index. The stores have the same
// tables, and next was not used before: it removes what has expired when it is used first.
func Expires(t *testing.T, first, next driver.Store) {
	t.Helper()
	f := newIndexed(t, first)
	f.change("job/a", driver.Change{Data: []byte("x"), Keep: 2 * time.Second, Due: f.base})
	require.Equal(t, []string{"job/a 0"}, f.all("job"))
	time.Sleep(2100 * time.Millisecond)
	require.NoError(t, next.Do(t.Context(), []driver.Op{{Key: "job"}})[0].Err)
	require.Eventually(t, func() bool { return len(f.all("job")) == 0 }, 10*time.Second, 10*time.Millisecond)
}

func longestKeys(f *indexed) {
	job := strings.Repeat("j", 128)
	key := job + "/" + strings.Repeat("k", 128)
	v := f.put(key, driver.Version{}, 5)
	require.Equal(f, []string{dueText(key, 5)}, f.all(job))
	require.Equal(f, v, f.do(driver.Op{Key: key}).Value.Version)
	for _, prefix := range []string{"journal:", "progress:"} {
		f.do(driver.Op{Key: prefix + key, Append: []driver.Entry{{ID: "e", Text: []byte("text"), Max: 4}}})
		require.Len(f, f.do(driver.Op{Key: prefix + key, Newest: 4}).List, 1)
	}
}

// listedInOrder has many long keys, since a store may keep several of them together.
func listedInOrder(f *indexed) {
	versions := map[string]driver.Version{}
	random := rand.New(rand.NewPCG(3, 4))
	for range 3 {
		for _, i := range random.Perm(400) {
			key := fmt.Sprintf("job/n%03d%c%s", i, ".-B_a"[i%5], strings.Repeat("x", i%90))
			if v, there := versions[key]; !there {
				versions[key] = f.put(key, driver.Version{}, i)
			} else if delete(versions, key); random.IntN(3) == 0 {
				versions[key] = f.change(key, driver.Change{From: v, Data: []byte("value")})
			} else {
				f.change(key, driver.Change{From: v})
			}
		}
	}
	for _, key := range []string{"job", "job-2/n000", "job/m", "job/n", "job/o", "journal:job/n000"} {
		f.put(key, driver.Version{}, 0)
	}
	want := slices.Sorted(maps.Keys(versions))
	first, _ := slices.BinarySearch(want, "job/n3")
	require.Greater(f, len(want), first+30)
	for prefix, want := range map[string][]string{
		"job/n": append([]string{"job/n"}, want...), "job/n3": want[first:], want[7]: want[7:8], "job/n4": nil, "jo/": nil, "job-2/": {"job-2/n000"},
	} {
		for _, page := range []int{1, 7, 100, 1000} {
			var got []string
			for cursor, pages := "", 0; pages == 0 || cursor != ""; pages++ {
				keys, next, err := f.s.Scan(f.Context(), prefix, cursor, page)
				require.NoError(f, err)
				require.LessOrEqual(f, len(keys), page)
				require.LessOrEqual(f, pages, 3*len(want)/page+3)
				got, cursor = append(got, keys...), next
			}
			require.Equal(f, want, got, prefix)
		}
	}
}
