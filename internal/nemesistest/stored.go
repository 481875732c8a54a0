package nemesistest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/schedule"
	"github.com/solotick/solotick/schedules"
)

// stored are the schedules of a job that lie in the store. People put, change, delete, pause and trigger
// them while faults last.
type stored struct {
	*simulation
	job     *jobs.Job
	list    *schedules.Schedules
	ticks   map[string]*schedule.Schedule // of those that were put, by key
	changed map[string]bool
}

const storedJob = "stored"

func (s *simulation) newStored() *stored {
	st := &stored{simulation: s, ticks: map[string]*schedule.Schedule{}, changed: map[string]bool{}}
	st.job = s.drawOf(storedJob, "@stored")
	var err error
	if st.list, err = schedules.Of(s.fleet.Store(), st.job); err != nil {
		s.t.Fatal(err)
	}
	for i := range s.IntN(12) {
		st.put(fmt.Sprint("key-", i))
	}
	return st
}

// put puts a schedule of a key, and goes on until the store has taken it.
func (st *stored) put(key string) {
	spec := fmt.Sprintf("@every %ds offset %ds", []int{60, 75, 90}[st.IntN(3)], st.IntN(60)) // longer than any jitter
	ticks, err := schedule.Parse(spec, nil, storedJob+"/"+key)
	if err != nil {
		st.t.Fatal(err)
	}
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, err := st.list.Put(ctx, schedules.Schedule{Key: key, Cron: spec})
		cancel()
		if err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	st.ticks[key] = ticks.Within(st.fleet.Now().Add(time.Millisecond), time.Time{}) // a put acts on ticks that come after it
}

// disturb does what people do to one of the schedules.
func (st *stored) disturb() {
	if len(st.ticks) == 0 {
		return
	}
	key := fmt.Sprint("key-", st.IntN(len(st.ticks)))
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	act := fleet.Act{By: "ops"}
	switch st.IntN(4) {
	case 0:
		st.changed[key] = true
		st.put(key)
	case 1:
		st.changed[key] = true
		_, _ = st.list.Delete(ctx, key)
		st.put(key)
	case 2:
		st.changed[key] = true // what came due in the pause need not be in its history
		if st.list.Pause(ctx, key, act) == nil {
			time.Sleep(st.between(0, 5*time.Second))
			for {
				if _, err := st.list.Resume(context.Background(), key, act); err == nil {
					break
				}
				time.Sleep(time.Second)
			}
		}
	default:
		st.trigger(storedJob + "/" + key)
	}
}

// unchanged returns the job as it runs for each key whose schedule nobody has changed, and that no store
// has forgotten.
func (st *stored) unchanged() (list []*jobs.Job) {
	if st.forgets {
		return nil
	}
	for key, ticks := range st.ticks {
		if !st.changed[key] {
			list = append(list, st.job.WithKey(key, ticks))
		}
	}
	slices.SortFunc(list, func(a, b *jobs.Job) int { return len(a.Name()) - len(b.Name()) })
	return list
}
