package view

import (
	"slices"
	"strings"

	"github.com/solotick/solotick/fleet"
)

// matcher chooses jobs by a filter, and counts what each other choice would leave.
type matcher struct {
	s      *Snapshot
	filter JobFilter
	words  []string
	states stateSet

	stateCount [16]int
	groupCount map[string]int
	served     map[served]*servedBy // most jobs share a few lists of replicas
}

// served identifies a list of replicas, which is never changed.
type served struct {
	first *string
	n     int
}

// servedBy counts the jobs that some replicas serve.
type servedBy struct {
	replicas []string
	chosen   bool // one of them is
	jobs     int  // that are left without the filter's replicas
}

func newMatcher(s *Snapshot, f JobFilter) *matcher {
	m := &matcher{s: s, filter: f, words: strings.Fields(strings.ToLower(f.Search)), groupCount: map[string]int{}, served: map[served]*servedBy{}}
	for _, state := range f.States {
		m.states |= bit(state)
	}
	return m
}

// by returns the count of the jobs that some replicas serve.
func (m *matcher) by(replicas []string) *servedBy {
	key := served{n: len(replicas)}
	if key.n > 0 {
		key.first = &replicas[0]
	}
	s := m.served[key]
	if s == nil {
		s = &servedBy{replicas: replicas}
		s.chosen = len(m.filter.Replicas) == 0 || slices.ContainsFunc(replicas, func(id string) bool { return slices.Contains(m.filter.Replicas, id) })
		m.served[key] = s
	}
	return s
}

// job reports whether the filter chooses a job, and counts it for the menus.
func (m *matcher) job(i int, states stateSet) bool {
	j := &m.s.Status.Jobs[i]
	if !m.text(j) {
		return false
	}
	groups := m.s.groups(j)
	inState := m.states == 0 || states&m.states != 0
	inGroup := len(m.filter.Groups) == 0 || slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(m.filter.Groups, g) })
	by := m.by(j.Replicas)
	if inGroup && by.chosen {
		for set, n := states, 0; set != 0; set, n = set>>1, n+1 {
			m.stateCount[n] += int(set & 1)
		}
	}
	if inState && by.chosen {
		for _, g := range groups {
			m.groupCount[g]++
		}
	}
	if inState && inGroup {
		by.jobs++
	}
	return inState && inGroup && by.chosen
}

// text reports whether every word that is searched for is part of the job.
func (m *matcher) text(j *fleet.JobStatus) bool {
	if len(m.words) == 0 {
		return true
	}
	return contains(strings.ToLower(j.Name+" "+j.Schedule+" "+j.Timezone), m.words)
}

// contains reports whether every word is part of a text.
func contains(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

func (m *matcher) choices() (states, groups, replicas []Choice) {
	for i, s := range States {
		states = append(states, Choice{string(s), m.stateCount[i], slices.Contains(m.filter.States, s)})
	}
	counts := map[string]int{}
	for _, s := range m.served {
		if s.jobs > 0 {
			for _, id := range s.replicas {
				counts[id] += s.jobs
			}
		}
	}
	return states, named(m.groupCount, m.filter.Groups), named(counts, m.filter.Replicas)
}

func named(counts map[string]int, on []string) []Choice {
	list := []Choice{}
	for _, name := range on {
		counts[name] += 0 // is shown even where no job is left
	}
	for name, n := range counts {
		list = append(list, Choice{name, n, slices.Contains(on, name)})
	}
	slices.SortFunc(list, func(a, b Choice) int { return strings.Compare(a.Value, b.Value) })
	return list
}
