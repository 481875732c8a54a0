package scheduler_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	tools "github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

// described returns the known definitions of a job.
func (f *fleet) described(job string) tools.Description {
	f.t.Helper()
	people, err := tools.New(f.store)
	require.NoError(f.t, err)
	d, err := people.Describe(f.t.Context(), job, nil, 1, 1)
	require.NoError(f.t, err)
	return d
}

func TestDefinitionsAreThoseOfEachReplica(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", takes(0))
		f.start("a")
		f.start("b")
		f.jobs = []*jobs.Job{f.newJob("job", "@every 1h", takes(0), jobs.WithOverlap(jobs.Queue), jobs.WithTimeout(time.Minute))}
		f.start("c")
		f.sleepTo(5 * time.Second)
		d := f.described("job")
		require.Len(t, d.Definitions, 2)
		require.Equal(t, []string{"a", "b"}, d.Definitions[0].Replicas)
		require.Equal(t, "forbid", d.Definitions[0].Fields["overlap"])
		require.Equal(t, "queue", d.Definitions[1].Fields["overlap"])
		require.Equal(t, []string{"overlap", "timeout"}, d.Differences)
	})
}

func TestLostDefinitionsAreRecordedAgain(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1h", takes(0))
		r := f.start("a")
		r.cutVerb(verbAppend)
		f.sleepTo(5 * time.Second)
		require.Nil(t, f.described("job").Definitions[0].Fields, "not noted yet")
		r.link.heal()
		f.sleepTo(10 * time.Second)
		require.NotNil(t, f.described("job").Definitions[0].Fields)
		r.Update(f.registry(f.newJob("job", "@every 2h", takes(0))))
		f.sleepTo(15 * time.Second)
		require.Equal(t, "@every 2h", f.described("job").Definitions[0].Fields["schedule"])
		f.beginAgain()
		f.store.Forget()
		f.sleepTo(20 * time.Second)
		require.Equal(t, "@every 2h", f.described("job").Definitions[0].Fields["schedule"])
	})
}

// TestEachDefinitionIsRecordedByOneReplica: a large fleet that starts has better to do.
func TestEachDefinitionIsRecordedByOneReplica(t *testing.T) {
	inFleet(t, func(f *fleet) {
		const count = 40
		for i := range count {
			f.job(fmt.Sprintf("job-%d", i), "@every 1h", takes(0))
		}
		var notes atomic.Int32
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			f.start(id).link.set(func(c call) fault {
				if c.verb == verbAppend {
					notes.Add(1)
				}
				return fault{}
			})
		}
		f.sleepTo(30 * time.Second)
		require.EqualValues(t, count, notes.Load())
		for _, job := range f.jobs {
			require.NotNil(t, f.described(job.Name()).Definitions[0].Fields, "%s", job.Name())
		}
	})
}

// TestDefinitionsOfDeadReplicaAreRecordedByOthers has the journal refuse what the replica notes
// that dies.
func TestDefinitionsOfDeadReplicaAreRecordedByOthers(t *testing.T) {
	inFleet(t, func(f *fleet) {
		for i := range 10 {
			f.job(fmt.Sprintf("job-%d", i), "@every 1h", takes(0))
		}
		noted := func() (n int) {
			for _, job := range f.jobs {
				if f.described(job.Name()).Definitions[0].Fields != nil {
					n++
				}
			}
			return n
		}
		a := f.start("a")
		a.cutVerb(verbAppend)
		f.start("b")
		f.sleepTo(10 * time.Second)
		require.Less(t, noted(), len(f.jobs))
		a.link.cut()
		f.sleepTo(20 * time.Second)
		require.Equal(t, len(f.jobs), noted())
	})
}

func TestLongDefinitionsFitIntoANote(t *testing.T) {
	inFleet(t, func(f *fleet) {
		spec := jobs.Defaults()
		spec.Name, spec.Schedule, spec.Details = "job", "@every 1h", map[string]string{}
		for i := range 60 {
			spec.Details[strings.Repeat("x", i+1)] = strings.Repeat("\x00\n", protocol.MaxNoteText)
		}
		job, err := jobs.FromSpec(spec, takes(0))
		require.NoError(t, err)
		f.jobs = []*jobs.Job{job}
		f.start("a")
		f.sleepTo(5 * time.Second)
		require.Equal(t, "@e", f.described("job").Definitions[0].Fields["schedule"][:2])
	})
}
