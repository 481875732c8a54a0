package heartbeat

import (
	"slices"
	"sync"
)

// Service says which of a fleet's live replicas serve a job. It looks once at each distinct set of
// jobs, not at each replica: in a fleet of one release, at one. It is safe for concurrent use. Its
// slices must not be changed: jobs that the same replicas serve share one.
type Service struct {
	sets   []servedSet
	unsure bool // somebody may serve more jobs than is known

	mu     sync.Mutex
	unions map[string][]string // the replicas of several sets, by their places
}

// servedSet is a set of jobs with the replicas that serve it.
type servedSet struct {
	digest   string
	jobs     map[string]string
	replicas []string
}

// NewService takes in what replicas say. Those that are stopping serve nothing: they claim nothing
// more, and their next release may well differ.
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

// Of returns the replicas that serve a job, and whether it is certain that none does. Replicas of
// one set stay in their order. Where the replicas disagree about how the job is defined, revisions
// has those of each revision; otherwise it is nil.
func (s *Service) Of(job string) (serving []string, unserved bool, revisions map[string][]string) {
	var room [8]int
	in, first, differ := room[:0], "", false
	for i := range s.sets {
		revision, ok := s.sets[i].jobs[job]
		switch {
		case !ok:
			continue
		case len(in) == 0:
			first = revision
		case revision != first:
			differ = true
		}
		in = append(in, i)
	}
	if differ {
		revisions = map[string][]string{}
		for _, i := range in {
			revision := s.sets[i].jobs[job]
			revisions[revision] = append(revisions[revision], s.sets[i].replicas...)
		}
		for _, list := range revisions {
			slices.Sort(list)
		}
	}
	return s.union(in), len(in) == 0 && !s.unsure, revisions
}

// union returns the replicas of some of the sets: sorted, where there are several.
func (s *Service) union(in []int) []string {
	switch len(in) {
	case 0:
		return nil
	case 1:
		return slices.Clip(s.sets[in[0]].replicas)
	}
	var room [16]byte
	key := room[:0]
	for _, i := range in {
		key = append(key, byte(i), byte(i>>8))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if list, ok := s.unions[string(key)]; ok {
		return list
	}
	var list []string
	for _, i := range in {
		list = append(list, s.sets[i].replicas...)
	}
	slices.Sort(list)
	list = slices.Clip(list)
	if s.unions == nil {
		s.unions = map[string][]string{}
	}
	s.unions[string(key)] = list
	return list
}
