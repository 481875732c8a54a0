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

	replicas map[string]bool // those chosen

	stateCount   [16]int
	groupCount   map[string]int
	replicaCount map[string]int
}

func newMatcher(s *Snapshot, f JobFilter) *matcher {
	m := &matcher{s: s, filter: f, words: strings.Fields(strings.ToLower(f.Search)), groupCount: map[string]int{}, replicaCount: map[string]int{}, replicas: map[string]bool{}}
	for _, state := range f.States {
		m.states |= bit(state)
	}
	for _, id := range f.Replicas {
		m.replicas[id] = true
	}
	return m
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
	served := len(m.replicas) == 0 || slices.ContainsFunc(j.Replicas, func(id string) bool { return m.replicas[id] })
	if inGroup && served {
		for set, n := states, 0; set != 0; set, n = set>>1, n+1 {
			m.stateCount[n] += int(set & 1)
		}
	}
	if inState && served {
		for _, g := range groups {
			m.groupCount[g]++
		}
	}
	if inState && inGroup {
		for _, id := range j.Replicas {
			m.replicaCount[id]++
		}
	}
	return inState && inGroup && served
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
	return states, named(m.groupCount, m.filter.Groups), named(m.replicaCount, m.filter.Replicas)
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
