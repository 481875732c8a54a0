package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// TestNoTickWaitsWhileAReplicaHasRoom draws fleets of replicas of any size, and more jobs than they
// have room for.
func TestNoTickWaitsWhileAReplicaHasRoom(t *testing.T) {
	for range 4 { // make soak repeats this
		seed := rand.Uint64N(1_000_000)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			draw := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // not for secrets
			inFleet(t, func(f *fleet) {
				weight := 1 + draw.IntN(3)
				for i := range 5 + draw.IntN(20) {
					second := []int{0, 0, 5, 30}[draw.IntN(4)]
					long := time.Duration(draw.IntN(8000)) * time.Millisecond
					f.job(fmt.Sprint("job-", i), fmt.Sprintf("%d * * * * *", second), takes(long),
						jobs.WithWeight(weight), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
				}
				for i := range 2 + draw.IntN(4) {
					f.start(fmt.Sprint("replica-", i), scheduler.WithMaxRuns(1+draw.IntN(8)))
				}
				f.sleepTo(3*time.Minute + 55*time.Second)
				f.noneWaitedBesideRoom(weight)
			})
		})
	}
}

// noneWaitedBesideRoom holds that no replica had room for a while in which a tick waited for some.
func (f *fleet) noneWaitedBesideRoom(weight int) {
	f.t.Helper()
	const passing = 50 * time.Millisecond
	runs := f.runs.of("")
	used := func(replica string, at time.Time) (sum int) {
		for _, a := range runs {
			if a.Replica == replica && !a.start.After(at) && (a.end.IsZero() || a.end.After(at)) {
				sum += weight
			}
		}
		return sum
	}
	for _, a := range runs {
		for at := a.Tick.Add(2 * passing); a.start.After(at.Add(passing)); at = at.Add(passing) {
			for _, r := range f.replicas {
				room := r.Capacity().MaxRuns - weight
				require.False(f.t, used(r.Replica(), at) <= room && used(r.Replica(), at.Add(passing)) <= room,
					"%s at %s began at %s: %s had room at %s", a.Job, since(a.Tick), since(a.start), r.Replica(), since(at))
			}
		}
	}
}
