package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/solotick/solotick/internal/editdistance"
)

// similar returns at most three of the known names that may have been meant by name, the nearest
// first.
func similar(name string, known []string) []string {
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	lower := strings.ToLower(name)
	for _, k := range known {
		other := strings.ToLower(k)
		far := editdistance.Of(lower, other)
		if len(lower) >= 3 && strings.Contains(other, lower) { // a part of it, such as report of nightly-report
			far = min(far, 1)
		}
		if far <= (len(name)+2)/3 {
			found = append(found, candidate{k, far})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	var names []string
	for _, c := range found[:min(len(found), 3)] {
		if c.far <= found[0].far+1 { // beside a near one, a far one was hardly meant
			names = append(names, c.name)
		}
	}
	return names
}
