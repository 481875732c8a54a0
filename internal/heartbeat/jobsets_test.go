package heartbeat_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/lease/memlease"
)

// manyJobs returns n jobs with revisions of that release.
func manyJobs(n int, release string) map[string]string {
	list := make(map[string]string, n)
	for i := range n {
		list[fmt.Sprintf("team-%d.report-%d", i%7, i)] = protocol.SetDigest([]byte(release + fmt.Sprint(i)))[:12]
	}
	return list
}

// setCounter counts the sets that are put and read, and the bytes of those that are put.
type setCounter struct {
	*memlease.Store
	puts, gets, bytes int
	fails             error
}

func (c *setCounter) PutSet(ctx context.Context, set []byte, life time.Duration) error {
	if c.fails != nil {
		return c.fails
	}
	c.puts++
	c.bytes += len(set)
	return c.Store.PutSet(ctx, set, life)
}

func (c *setCounter) GetSets(ctx context.Context, digests []string) ([][]byte, error) {
	if c.fails != nil {
		return nil, c.fails
	}
	c.gets++
	return c.Store.GetSets(ctx, digests)
}

func publish(t *testing.T, s *heartbeat.JobSets, jobs map[string]string) string {
	t.Helper()
	digest, err := s.Publish(t.Context(), jobs)
	require.NoError(t, err)
	return digest
}

// named returns a replica that names a set, as others read it.
func named(t *testing.T, id, digest string, count int) heartbeat.Replica {
	t.Helper()
	jobs := map[string]string{}
	for i := range count {
		jobs[fmt.Sprint(i)] = ""
	}
	r, err := heartbeat.Decode(heartbeat.Replica{ID: id, Jobs: jobs, Set: digest}.Encode())
	require.NoError(t, err)
	require.Nil(t, r.Jobs)
	return r
}

func TestOneReleaseSharesOneSet(t *testing.T) {
	store := &setCounter{Store: new(memlease.Store)}
	jobs := manyJobs(10_000, "v1")
	var list []heartbeat.Replica
	for i := range 20 {
		digest := publish(t, heartbeat.NewJobSets(store), maps.Clone(jobs))
		list = append(list, named(t, fmt.Sprint("r", i), digest, len(jobs)))
		require.Equal(t, list[0].Set, digest)
	}
	once := store.puts
	require.Less(t, once, 16)
	require.Less(t, store.bytes, 128<<10, "10,000 jobs")
	require.Less(t, len(heartbeat.Replica{ID: "r", Jobs: jobs, Set: list[0].Set}.Encode()), 512)

	reader := heartbeat.NewJobSets(store)
	require.NoError(t, reader.Resolve(t.Context(), list))
	for _, r := range list {
		require.Equal(t, jobs, r.Jobs)
	}
	gets := store.gets
	require.Less(t, gets, 4)
	again := []heartbeat.Replica{named(t, "r", list[0].Set, len(jobs))}
	require.NoError(t, reader.Resolve(t.Context(), again))
	require.Equal(t, jobs, again[0].Jobs)
	require.Equal(t, gets, store.gets, "it was known")
}

func TestReleasesShareMostOfTheirSets(t *testing.T) {
	store := &setCounter{Store: new(memlease.Store)}
	jobs := manyJobs(10_000, "v1")
	first := publish(t, heartbeat.NewJobSets(store), jobs)
	before := store.puts
	changed := maps.Clone(jobs)
	changed["team-1.report-1"] = "changed"
	second := publish(t, heartbeat.NewJobSets(store), changed)
	require.NotEqual(t, first, second)
	require.Equal(t, before+2, store.puts, "a part and the root")

	list := []heartbeat.Replica{named(t, "a", first, len(jobs)), named(t, "b", second, len(jobs))}
	require.NoError(t, heartbeat.NewJobSets(store).Resolve(t.Context(), list))
	require.Equal(t, jobs, list[0].Jobs)
	require.Equal(t, changed, list[1].Jobs)
	serving, unserved, revisions := heartbeat.NewService(list).Of("team-1.report-1")
	require.Equal(t, []string{"a", "b"}, serving)
	require.False(t, unserved)
	require.Equal(t, map[string][]string{jobs["team-1.report-1"]: {"a"}, "changed": {"b"}}, revisions)
}

func TestLostSetIsUnknownUntilPutAgain(t *testing.T) {
	store := &setCounter{Store: new(memlease.Store)}
	jobs := manyJobs(100, "v1")
	owner := heartbeat.NewJobSets(store)
	list := []heartbeat.Replica{named(t, "a", publish(t, owner, jobs), len(jobs))}
	store.Forget()
	reader := heartbeat.NewJobSets(store)
	require.NoError(t, reader.Resolve(t.Context(), list))
	require.Nil(t, list[0].Jobs)
	_, unserved, _ := heartbeat.NewService(list).Of("nobody's")
	require.False(t, unserved, "it may serve it")

	publish(t, owner, jobs)
	require.NoError(t, reader.Resolve(t.Context(), list))
	require.Nil(t, list[0].Jobs, "the owner looks from time to time")
	heartbeat.AgeOfSets(owner, time.Minute)
	publish(t, owner, jobs)
	require.NoError(t, reader.Resolve(t.Context(), list))
	require.Equal(t, jobs, list[0].Jobs)
	_, unserved, _ = heartbeat.NewService(list).Of("nobody's")
	require.True(t, unserved)
}

func TestASetThatIsUsedOutlivesItsLife(t *testing.T) {
	store := new(memlease.Store)
	jobs := manyJobs(100, "v1")
	used, unused := heartbeat.NewJobSets(store), heartbeat.NewJobSets(store)
	other := manyJobs(100, "v0")
	digest, old := publish(t, used, jobs), publish(t, unused, other)
	for range 3 {
		store.Step(time.Hour)
		heartbeat.AgeOfSets(used, time.Hour)
		publish(t, used, jobs)
	}
	list := []heartbeat.Replica{named(t, "a", digest, len(jobs)), named(t, "b", old, len(other))}
	require.NoError(t, heartbeat.NewJobSets(store).Resolve(t.Context(), list))
	require.Equal(t, jobs, list[0].Jobs)
	require.Nil(t, list[1].Jobs, "nobody uses it")
}

func TestAnUnreadableSetIsUnknown(t *testing.T) {
	store := new(memlease.Store)
	for what, set := range map[string]string{
		"of another kind": "x", "half a digest": "r0123", "not a digest": "r" + strings.Repeat("x", 32), "not compressed": "pabc",
		"a root of nothing": "r" + strings.Repeat("0", 32),
	} {
		require.NoError(t, store.PutSet(t.Context(), []byte(set), time.Hour))
		list := []heartbeat.Replica{named(t, "a", protocol.SetDigest([]byte(set)), 3)}
		require.NoError(t, heartbeat.NewJobSets(store).Resolve(t.Context(), list), what)
		require.Nil(t, list[0].Jobs, what)
	}
	list := []heartbeat.Replica{named(t, "a", "not a digest", 3)}
	require.NoError(t, heartbeat.NewJobSets(store).Resolve(t.Context(), list))
	require.Nil(t, list[0].Jobs)
}

func TestAFailingStoreLeavesJobsUnknown(t *testing.T) {
	store := &setCounter{Store: new(memlease.Store), fails: errors.New("away")}
	jobs := manyJobs(100, "v1")
	owner := heartbeat.NewJobSets(store)
	digest, err := owner.Publish(t.Context(), jobs)
	require.ErrorIs(t, err, store.fails)
	require.NotEmpty(t, digest, "its heartbeat names the set all the same")
	list := []heartbeat.Replica{named(t, "a", digest, len(jobs))}
	reader := heartbeat.NewJobSets(store)
	require.ErrorIs(t, reader.Resolve(t.Context(), list), store.fails)
	require.Nil(t, list[0].Jobs)
	store.fails = nil
	publish(t, owner, jobs)
	require.NoError(t, reader.Resolve(t.Context(), list))
	require.Equal(t, jobs, list[0].Jobs)
}

func TestTooManyJobsAreNotNamed(t *testing.T) {
	jobs := make(map[string]string, heartbeat.MaxJobs+1)
	for i := range heartbeat.MaxJobs + 1 {
		jobs[fmt.Sprint(i)] = ""
	}
	digest, err := heartbeat.NewJobSets(new(memlease.Store)).Publish(t.Context(), jobs)
	require.Empty(t, digest)
	require.EqualError(t, err, "heartbeat: jobs: has 250001, must have at most 250000 for others to know them by name")
	r, err := heartbeat.Decode(heartbeat.Replica{ID: "a", Jobs: jobs}.Encode())
	require.NoError(t, err)
	_, unserved, _ := heartbeat.NewService([]heartbeat.Replica{r}).Of("nobody's")
	require.False(t, unserved)
}

func TestHeartbeatThatListsItsJobsIsRead(t *testing.T) {
	old, err := heartbeat.Decode([]byte(`{"id": "old", "jobs": {"report": "1"}, "job_count": 1}`))
	require.NoError(t, err)
	store := new(memlease.Store)
	jobs := manyJobs(100, "v1")
	jobs["report"] = "2"
	list := []heartbeat.Replica{old, named(t, "new", publish(t, heartbeat.NewJobSets(store), jobs), len(jobs))}
	require.NoError(t, heartbeat.NewJobSets(store).Resolve(t.Context(), list))
	serving, _, revisions := heartbeat.NewService(list).Of("report")
	require.Equal(t, []string{"new", "old"}, serving)
	require.Equal(t, map[string][]string{"1": {"old"}, "2": {"new"}}, revisions)
}

func TestFewJobsNeedNoSet(t *testing.T) {
	store := &setCounter{Store: new(memlease.Store)}
	require.Empty(t, publish(t, heartbeat.NewJobSets(store), map[string]string{"report": "1"}))
	require.Zero(t, store.puts)
}
