package runs_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler/internal/runs"
)

func TestRunsOfTwoKeysWithOneTokenFailEach(t *testing.T) {
	var f runs.Failing
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	spec := jobs.Defaults()
	a, b := jobs.Run{Job: "report", Key: "a", Token: 7, Attempt: 1}, jobs.Run{Job: "report", Key: "b", Token: 7, Attempt: 1}
	for _, run := range []jobs.Run{a, b, b} {
		f.Add(run, &spec, errors.New("no paper"), now, time.Second)
		now = now.Add(time.Millisecond)
	}
	list := f.List(now)
	require.Len(t, list, 2)
	require.Equal(t, []string{"report/a", "report/b"}, []string{list[0].Job, list[1].Job})
	require.Equal(t, []int{1, 2}, []int{list[0].Failures, list[1].Failures})
	require.Equal(t, map[string]time.Time{"report": list[1].Since}, f.Since(now), "by job")
	f.End(b)
	require.Len(t, f.List(now), 1)
}
