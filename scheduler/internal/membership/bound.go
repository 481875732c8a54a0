package membership

import (
	"cmp"
	"math"
	"slices"
)

// bound chooses which jobs of a class go to another member than the one with the highest score.
// None do if the members' jobs are not known.
func (r *Ranking) bound(c class) map[string]int {
	mine := r.Members[r.me]
	if mine.jobs == nil || c>>mine.kind&1 == 0 {
		return nil
	}
	type hashed struct {
		name string
		key  uint64
	}
	var list []hashed
	for name, revision := range mine.jobs {
		if len(r.kinds) == 1 || r.classOf(name, revision) == c {
			list = append(list, hashed{name, hashOf(name)})
		}
	}
	slices.SortFunc(list, func(a, b hashed) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.name, b.name)) })
	total, left := 0.0, make([]int, len(r.Members))
	for i := range r.Members {
		if r.in(c, i) {
			total += r.Members[i].weight
		}
	}
	for i := range r.Members {
		left[i] = int(math.Ceil(mostLoad * float64(len(list)) * r.Members[i].weight / total))
	}
	owners := make(map[string]int)
	for _, job := range list {
		owner := r.best(c, job.key, nil)
		if left[owner] == 0 {
			owner = r.best(c, job.key, func(i int) bool { return left[i] > 0 })
			owners[job.name] = owner
		}
		left[owner]--
	}
	return owners
}
