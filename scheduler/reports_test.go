package scheduler_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

func TestReportsThatAreLostCostLooksOnly(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(0))
		f.job("long", "@every 10s", takes(7*time.Second))
		for _, r := range f.startMany(4) {
			r.link.set(func(c call) fault { return fault{cut: c.verb == verbReceive} })
		}
		f.sleepTo(60*time.Second - 1)
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 59}, f.fates("job"))
		require.Len(t, f.runs.of("long"), 5)
		for tick, late := range f.lateness("job") {
			require.Zero(t, late, tick)
		}
	})
}

// unruly delivers each report several times, after up to five seconds, in no order.
type unruly struct{ *link }

func (u unruly) Subscribe(ctx context.Context, receive func(message []byte), names ...string) error {
	var pending sync.WaitGroup
	defer pending.Wait()
	return u.link.Subscribe(ctx, func(message []byte) {
		message = slices.Clone(message)
		for range 3 {
			pending.Go(func() {
				time.Sleep(rand.N(5 * time.Second))
				receive(message)
			})
		}
	}, names...)
}

func TestReportsThatComeLateAndTwiceChangeNothing(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(0))
		f.job("long", "@every 10s", takes(7*time.Second))
		f.job("queued", "@every 4s", takes(5*time.Second), queued)
		for _, id := range []string{"a", "b", "c", "d"} {
			f.startOver(id, func(l *link) protocol.Store { return unruly{l} })
		}
		f.sleepTo(60*time.Second - 1)
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 59}, f.fates("job"))
		require.Len(t, f.runs.of("long"), 5)
		for _, job := range []string{"job", "long"} {
			for tick, late := range f.lateness(job) {
				require.Zero(t, late, "%s at %s", job, tick)
			}
		}
		require.Empty(t, f.beside("queued"))
	})
}

// forge publishes a report that claims to be from a replica.
func (f *fleet) forge(from, line string) {
	_, since, err := f.store.Time(context.Background())
	require.NoError(f.t, err)
	text := fmt.Sprintf("solotick1 %d %s forged\n%s", since.UnixMicro(), from, line)
	require.NoError(f.t, f.store.Publish(context.Background(), []byte(text)))
}

// TestAForgedReportLosesNoTick says of each tick, right before it is due, that it is settled.
func TestAForgedReportLosesNoTick(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		f.startMany(3)
		for tick := 10 * time.Second; tick < 100*time.Second; tick += 10 * time.Second {
			f.sleepTo(tick - 500*time.Millisecond)
			f.forge("a", fmt.Sprintf("sw %d 0 job", at(tick).UnixMilli()))
			f.forge("a", fmt.Sprintf("dw %d 0 job", at(tick+time.Hour).UnixMilli()))
		}
		f.sleepTo(100*time.Second - 1)
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 9}, f.fates("job"))
		for tick, late := range f.lateness("job") {
			require.Less(t, late, 3*time.Second, tick)
		}
	})
}

// TestForgedReportOfDeadOwnerLosesNoTick of a job whose next one is far away.
func TestForgedReportOfDeadOwnerLosesNoTick(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("rare", "@every 10m", takes(0), jobs.WithMisfire(jobs.MisfireLatest, time.Minute))
		f.startMany(4)
		f.sleepTo(10*time.Minute + time.Second)
		owner := f.owner("rare")
		f.sleepTo(20*time.Minute - 400*time.Millisecond)
		f.forge(owner.Replica(), fmt.Sprintf("sw %d 0 rare", at(20*time.Minute).UnixMilli()))
		owner.link.cut()
		f.sleepTo(20*time.Minute + 40*time.Second)
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 2}, f.fates("rare"))
	})
}

// TestReportsFromBeforeALossAreIgnored has every report that was sent come again after the store
// has lost its records.
func TestReportsFromBeforeALossAreIgnored(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 1s", takes(0))
		f.startMany(3)
		var mu sync.Mutex
		var sent [][]byte
		ctx, stop := context.WithCancel(context.Background())
		var subscribed sync.WaitGroup
		subscribed.Go(func() {
			_ = f.store.Subscribe(ctx, func(message []byte) {
				mu.Lock()
				defer mu.Unlock()
				sent = append(sent, slices.Clone(message))
			})
		})
		f.sleepTo(20500 * time.Millisecond)
		stop()
		subscribed.Wait()
		require.NotEmpty(t, sent)
		f.store.Forget()
		f.sleepTo(23500 * time.Millisecond)
		runs := len(f.runs.of("job"))
		for i := range 5 {
			for _, message := range sent {
				// Its times are those of the ticks that come.
				text := strings.ReplaceAll(string(message), fmt.Sprint(at(20*time.Second).UnixMilli()), fmt.Sprint(at(24*time.Second+time.Duration(i)*time.Second).UnixMilli()))
				require.NoError(t, f.store.Publish(context.Background(), []byte(text)))
			}
			f.sleepTo(24500*time.Millisecond + time.Duration(i)*time.Second)
			require.Len(t, f.runs.of("job"), runs+i+1)
		}
		for _, a := range f.runs.of("job")[runs:] {
			require.Equal(t, a.Tick, a.start.UTC())
		}
	})
}

// TestSnapshotThatLostReportedTickFollowsTheDelivery has the store go back to before a tick that
// only its owner, which is dead by then, has seen settled there: the others have a report of it.
func TestSnapshotThatLostReportedTickFollowsTheDelivery(t *testing.T) {
	for delivery, want := range map[jobs.Delivery]int{jobs.AtLeastOnce: 2, jobs.AtMostOnce: 1} {
		t.Run(fmt.Sprint(delivery), func(t *testing.T) {
			inLossyFleet(t, func(f *fleet) {
				f.store.standBy()
				f.job("job", "@every 10s", takes(0), jobs.WithDelivery(delivery), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
				f.startMany(3)
				f.sleepTo(15 * time.Second)
				f.store.lag()
				f.sleepTo(21 * time.Second)
				owner := f.owner("job")
				owner.link.cut()
				f.store.failOver()
				f.sleepTo(39 * time.Second)
				require.Len(t, f.runsOf("job", at(20*time.Second)), want)
				require.Len(t, f.runsOf("job", at(30*time.Second)), 1)
			})
		})
	}
}

// TestLivingOwnerWritesBackLostTicks, so that no tick runs again.
func TestLivingOwnerWritesBackLostTicks(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.store.standBy()
		f.job("job", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
		f.startMany(3)
		f.sleepTo(15 * time.Second)
		f.store.lag()
		f.sleepTo(21 * time.Second)
		owner := f.owner("job")
		owner.link.set(func(c call) fault { return fault{cut: c.verb == verbClaim} }) // another has to ask it
		f.store.failOver()
		f.sleepTo(39 * time.Second)
		require.Equal(t, map[protocol.Outcome]int{"succeeded": 3}, f.fates("job"))
		for _, tick := range []time.Duration{20 * time.Second, 30 * time.Second} {
			require.Len(t, f.runsOf("job", at(tick)), 1, tick)
		}
	})
}
