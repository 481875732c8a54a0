package console

// While the store does not answer, pages are made of what it said last, and say so. A page of one
// tick or of the audit log is not: what it says of the past may be wrong by now. Nor is an answer
// of the API, by which programs decide.

// shown returns a value for a page: that of the last read where the store does not answer. ok is
// false where there is none.
func shown[T any](q *request, s *shared[T]) (value T, ok bool, err error) {
	if q.from.Err == "" {
		if value, err = s.get(q.r.Context()); err == nil {
			return value, true, nil
		}
		if p := problemOf(err); q.api || p.fallback == nil { // it answers the question, and is no failure of the store
			return value, false, p
		}
		stale := *q.from.Snapshot
		stale.LastAttempt, stale.Err = q.from.now(), problemOf(err).Detail
		q.from = &reading{&stale, q.from.at, q.from.seq}
	}
	value, ok = s.known()
	return value, ok, nil
}

// away is the problem of a page that is not made without the store.
func (q *request) away() error {
	if q.from != nil && q.from.Err != "" {
		return unavailable(q.from.Err, nil)
	}
	return nil
}
