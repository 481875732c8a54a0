package drivertest

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/driver"
)

// dueModel makes random changes, in batches.
func dueModel(f *indexed) {
	random := rand.New(rand.NewPCG(1, 2))
	versions, due := map[string]driver.Version{}, map[string]int{}
	keys := append(sameShare("job", 6), "job/x", "job/y", "job/z", "other/x")
	for range 40 {
		var ops []driver.Op
		for _, i := range random.Perm(len(keys))[:1+random.IntN(5)] {
			c := &driver.Change{ID: f.id(), From: versions[keys[i]], Data: []byte("value"), Due: f.at(random.IntN(8))}
			switch random.IntN(5) {
			case 0:
				c.Data = nil
			case 1:
				c.Due = time.Time{}
			case 2:
				c.From.Stamp++
			}
			ops = append(ops, driver.Op{Key: keys[i], Change: c})
		}
		for i, res := range f.s.Do(f.Context(), ops) {
			require.NoError(f, res.Err)
			key, c := ops[i].Key, ops[i].Change
			require.Equal(f, c.From == versions[key], res.Status == driver.Done)
			if res.Status != driver.Done {
				continue
			}
			delete(versions, key)
			delete(due, key)
			if c.Data != nil {
				versions[key] = res.Version
			}
			if c.DueMilli() > 0 {
				due[key] = int(c.Due.Sub(f.base) / time.Millisecond)
			}
		}
		until, count := random.IntN(9), 1+random.IntN(4)
		shares := []int{driver.ShareOf(keys[0]), driver.ShareOf("job/x"), driver.ShareOf("job/y"), driver.ShareOf("job/z")}
		shares = shares[:1+random.IntN(len(shares))]
		f.requireModel(due, shares, until, count)
	}
}

// requireModel compares each share by itself, so that of keys that are due at once any may come.
func (f *indexed) requireModel(due map[string]int, shares []int, until, count int) {
	f.Helper()
	got := f.due("job", shares, until, count)
	require.True(f, slices.IsSortedFunc(got, func(a, b string) int { return cmp.Compare(milliOf(a), milliOf(b)) }))
	want, all := map[int][]int{}, []string{}
	for key, milli := range due {
		if share := driver.ShareOf(key); strings.HasPrefix(key, "job/") && milli <= until && slices.Contains(shares, share) {
			all = append(all, dueText(key, milli))
			want[share] = append(want[share], milli)
		}
	}
	require.Subset(f, all, got)
	have := map[int][]int{}
	for _, text := range got {
		key, _, _ := strings.Cut(text, " ")
		have[driver.ShareOf(key)] = append(have[driver.ShareOf(key)], milliOf(text))
	}
	for share := range maps.Keys(want) {
		slices.Sort(want[share])
		want[share] = want[share][:min(count, len(want[share]))]
	}
	require.Equal(f, want, have)
}
