package scheduler_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

func TestNewestDefinitionOfAJobIsInForce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		limited := jobs.WithRate(jobs.Rate{Count: 1, Per: time.Hour}, 2)
		inForce := func(want *jobs.Job) {
			t.Helper()
			require.Equal(t, wire.PolicyOf(want.Spec()), f.inspect(want.Name()).Policy)
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

		f.store.Forget() // the replica that makes the record brings its definition
		f.sleepTo(35 * time.Second)
		require.NotZero(t, f.inspect("job").Policy.History)

		a.Update(f.registry(edited, led))
		f.sleepTo(38 * time.Second)
		b.Update(f.registry(old, led))
		f.sleepTo(41 * time.Second)
		a.Update(f.registry(edited, led)) // changes nothing
		inForce(old)
	})
}

func TestHistoryHasTheLengthOfTheJob(t *testing.T) {
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

func TestRecordRemovedUnderItsReplicasComesBack(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(time.Second))
		f.startMany(3)
		f.sleepTo(25 * time.Second)
		r := f.inspect("job")
		a, err := f.store.Remove(t.Context(), protocol.Remove{Name: "job", Watermark: r.Watermark, Token: r.Token})
		require.NoError(t, err)
		require.Equal(t, protocol.RecordRemoved, a.Status)
		f.sleepTo(26 * time.Second)
		require.Equal(t, r.Watermark, f.inspect("job").Watermark, "they make it again with what they know")
		f.sleepTo(55 * time.Second)
		require.Equal(t, "10s, 20s, 30s, 40s, 50s", f.story("job"))
	})
}
