package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/solotick/solotick/internal/editdistance"
)

// similar returns at most three of the known names that name may be a misspelling of, the most
// similar first.
func similar(name string, known []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	lower := strings.ToLower(name)
	for _, k := range known {
		other := strings.ToLower(k)
		distance := editdistance.Of(lower, other)
		if len(lower) >= 3 && strings.Contains(other, lower) { // a part, such as report of nightly-report
			distance = min(distance, 1)
		}
		if distance <= (len(name)+2)/3 {
			found = append(found, candidate{k, distance})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var names []string
	for _, c := range found[:min(len(found), 3)] {
		if c.distance <= found[0].distance+1 { // others are much less similar
			names = append(names, c.name)
		}
	}
	return names
}
