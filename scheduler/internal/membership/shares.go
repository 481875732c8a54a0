package membership

// Shares returns those of n shares of the stored schedules of a job with that revision that this replica
// looks after, and those in which it comes next after others, up to the fourth in all.
func (r *Ranking) Shares(job, revision string, n int) (first, next []int) {
	if r == nil || r.me < 0 {
		return nil, nil
	}
	class, of := r.classOf(job, revision), hashOf(job)
	for share := range n {
		key, rank := mix(of+uint64(share)), 0 //nolint:gosec // from 0
		mine := r.score(r.me, key)
		for i := range r.Members {
			if i != r.me && r.in(class, i) && r.score(i, key) > mine {
				rank++
			}
		}
		switch {
		case rank == 0:
			first = append(first, share)
		case rank < lookers:
			next = append(next, share)
		}
	}
	return first, next
}

// lookers is how many members look after a share, each a little later than the one before.
const lookers = 4
