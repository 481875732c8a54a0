package engine

import (
	"slices"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

// fewLeases is how many leases a lookup compares one by one. Most values have one or none.
const fewLeases = 8

// leaseIndex finds the leases of a value by their tokens, and remembers which were taken.
type leaseIndex struct {
	list    []driver.Lease
	byToken map[int64]int // of more than a few, their places
	taken   []bool
	few     [fewLeases]bool // what taken is of a few
}

// index replaces the list. None of its leases is taken.
func (x *leaseIndex) index(list []driver.Lease) {
	*x = leaseIndex{list: list}
	x.taken = x.few[:min(len(list), fewLeases)]
	if len(list) > fewLeases {
		x.taken = make([]bool, len(list))
		x.byToken = make(map[int64]int, len(list))
		for i, l := range list {
			x.byToken[l.Token] = i
		}
	}
}

// find returns the position of the lease with that token, or -1.
func (x *leaseIndex) find(token int64) int {
	if x.byToken == nil {
		return slices.IndexFunc(x.list, func(l driver.Lease) bool { return l.Token == token })
	}
	if i, ok := x.byToken[token]; ok {
		return i
	}
	return -1
}

// ends returns when the lease with that token ends, or the zero time.
func (x *leaseIndex) ends(token int64) time.Time {
	if i := x.find(token); i >= 0 {
		return x.list[i].Ends
	}
	return time.Time{}
}

// take returns a lease and marks it as taken.
func (x *leaseIndex) take(token int64) (l driver.Lease, known bool) {
	i := x.find(token)
	if i < 0 {
		return driver.Lease{}, false
	}
	x.taken[i] = true
	return x.list[i], true
}

// rest appends the tokens of the leases that were not taken.
func (x *leaseIndex) rest(tokens []int64) []int64 {
	for i, l := range x.list {
		if !x.taken[i] {
			tokens = append(tokens, l.Token)
		}
	}
	return tokens
}
