package heartbeat

import "slices"

// Service says which of a fleet's live replicas serve a job. It looks once at each distinct set of jobs, not at each
// replica: in a fleet of one release, at one. It is never changed; its slices must not be changed either.
type Service struct {
	sets   []servedSet
	unsure bool // somebody may serve more jobs than is known
}

// servedSet is a set of jobs with the replicas that serve it.
type servedSet struct {
	digest   string
	jobs     map[string]string
	replicas []string
}

// NewService takes in what replicas say. Those that are stopping serve nothing: they claim nothing more, and their next
// release may well differ.
func NewService(replicas []Replica) *Service {
	s := new(Service)
	for i := range replicas {
		r := &replicas[i]
		if r.Stopping {
			continue
		}
		if len(r.Jobs) != r.JobCount {
			s.unsure = true
		}
		if len(r.Jobs) == 0 {
			continue
		}
		n := slices.IndexFunc(s.sets, func(o servedSet) bool { return o.digest == r.Set && same(o.jobs, r.Jobs) })
		if n < 0 {
			n = len(s.sets)
			s.sets = append(s.sets, servedSet{digest: r.Set, jobs: r.Jobs})
		}
		s.sets[n].replicas = append(s.sets[n].replicas, r.ID)
	}
	return s
}

// Of returns the replicas that serve a job, in the order in which they were given where they are of one set, and whether it
// is certain that none does. Where the replicas disagree about how the job is defined, revisions has those of each revision;
// otherwise it is nil.
func (s *Service) Of(job string) (serving []string, unserved bool, revisions map[string][]string) {
	by := map[string][]string(nil)
	first, found := "", 0
	for i := range s.sets {
		set := &s.sets[i]
		revision, ok := set.jobs[job]
		if !ok {
			continue
		}
		switch found++; {
		case found == 1:
			first, serving = revision, slices.Clip(set.replicas)
			continue
		case found == 2:
			by = map[string][]string{first: serving}
		}
		serving = append(serving, set.replicas...)
		by[revision] = append(slices.Clip(by[revision]), set.replicas...)
	}
	if found > 1 {
		slices.Sort(serving)
	}
	if len(by) > 1 {
		revisions = by
		for _, list := range by {
			slices.Sort(list)
		}
	}
	return serving, found == 0 && !s.unsure, revisions
}
