package heartbeat_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/heartbeat"
)

// releases are so many replicas of each of two releases, which define the first job differently.
func releases(replicas, jobs int) (list []heartbeat.Replica) {
	for n := range 2 {
		set := map[string]string{}
		for i := range jobs {
			set[fmt.Sprintf("job-%d", i)] = "r"
		}
		set["job-0"] = fmt.Sprint(n)
		if n == 1 {
			set["new"] = "r"
		}
		for i := range replicas {
			list = append(list, heartbeat.Replica{ID: fmt.Sprintf("r%02d-%d", i, n), Jobs: set, JobCount: len(set)})
		}
	}
	return list
}

func TestJobsOfTwoReleasesShareAListOfReplicas(t *testing.T) {
	s := heartbeat.NewService(releases(2, 3))
	first, unserved, revisions := s.Of("job-1")
	require.Equal(t, []string{"r00-0", "r00-1", "r01-0", "r01-1"}, first)
	require.False(t, unserved)
	require.Nil(t, revisions)
	second, _, _ := s.Of("job-2")
	require.Same(t, &first[0], &second[0])
	both, _, revisions := s.Of("job-0")
	require.Equal(t, first, both)
	require.Equal(t, map[string][]string{"0": {"r00-0", "r01-0"}, "1": {"r00-1", "r01-1"}}, revisions)
	newer, _, revisions := s.Of("new")
	require.Equal(t, []string{"r00-1", "r01-1"}, newer)
	require.Nil(t, revisions)
}

// BenchmarkServiceOfTwoReleases measures 10,000 jobs that 50 replicas of two releases serve.
func BenchmarkServiceOfTwoReleases(b *testing.B) {
	s := heartbeat.NewService(releases(25, 10_000))
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("job-%d", i)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, name := range names {
			s.Of(name)
		}
	}
}
