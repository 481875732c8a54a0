package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	tools "github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/jobs"
)

func TestNewestDefinitionOfAJobIsInForce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		limited := jobs.WithRate(jobs.Rate{Count: 1, Per: time.Hour}, 2)
		inForce := func(want *jobs.Job) {
			t.Helper()
			require.Equal(t, tools.PolicyOf(want.Spec()), f.inspect(want.Name()).Policy)
		}
		old, edited := f.newJob("job", "@every 10s", takes(0), limited), f.newJob("job", "@every 10s", takes(0), jobs.WithHistory(16))
		led := f.newJob("led", "", leads, jobs.WithLeader())
		a := f.startWith("a", []*jobs.Job{old, led})
		f.sleepTo(5 * time.Second)
		inForce(old)
		inForce(led)
		b := f.startWith("b", []*jobs.Job{edited, led})
		f.sleepTo(8 * time.Second)
		inForce(edited)

		f.pause("job") // both read the record again
		f.sleepTo(15 * time.Second)
		f.resume("job")
		f.sleepTo(25 * time.Second)
		inForce(edited)

		f.store.Forget() // whoever makes the record brings what it knows
		f.sleepTo(35 * time.Second)
		require.NotZero(t, f.inspect("job").Policy.History)

		a.Update(f.registry(edited, led))
		b.Update(f.registry(old, led))
		f.sleepTo(38 * time.Second)
		a.Update(f.registry(edited, led)) // changes nothing
		inForce(old)
	})
}

func TestHistoryOfAJobIsAsLongAsItSays(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("short", "@every 1s", takes(0), jobs.WithHistory(16))
		f.job("long", "@every 1s", takes(0), jobs.WithHistory(200))
		f.job("usual", "@every 1s", takes(0))
		f.startMany(3)
		f.sleepTo(5 * time.Minute)
		require.Len(t, f.inspect("short").Settled, 16)
		require.Len(t, f.inspect("usual").Settled, 128)
		require.Len(t, f.inspect("long").Settled, 200)
	})
}
