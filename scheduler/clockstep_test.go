package scheduler_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// clockEvents returns how often the replicas have seen the store's clock step, and how often they
// came to trust it.
func (f *fleet) clockEvents() (stepped, trusted int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events {
		switch e, ok := e.event.(scheduler.ClockChanged); {
		case ok && e.Trusted:
			trusted++
		case ok:
			stepped++
		}
	}
	return stepped, trusted
}

func TestClockWrongForAMomentHarmsNothing(t *testing.T) {
	for name, by := range map[string]time.Duration{
		"8 h ahead": 8 * time.Hour, "a year ahead": 365 * 24 * time.Hour, "8 h behind": -8 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("often", "@every 10s", takes(time.Second))
				f.job("hourly", "@every "+hour.String(), takes(0))
				f.job("daily", "@every 24h", takes(0))
				f.startMany(3)
				f.sleepTo(38 * time.Second)
				f.store.step(by)
				f.sleepTo(42 * time.Second)
				f.store.step(-by)
				f.sleepTo(43 * time.Second)
				stepped, trusted := f.clockEvents()
				require.Equal(t, []int{3, 3}, []int{stepped, trusted})
				f.sleepTo(2*hour + time.Second)
				runs := f.runs.of("often")
				require.Len(t, runs, int(2*hour/(10*time.Second)))
				for i, r := range runs {
					require.Equal(t, epoch.Add(time.Duration(i+1)*10*time.Second), r.Tick, "each, once")
					late := r.start.Sub(r.Tick)
					require.GreaterOrEqual(t, late, time.Duration(0))
					require.Less(t, late, 4*time.Second, "%s", r.Tick)
				}
				require.Equal(t, hour.String()+", "+(2*hour).String(), f.story("hourly"))
				require.Empty(t, f.runs.of("daily"))
			})
		})
	}
}

func TestTrueCorrectionOfTheClockIsAccepted(t *testing.T) {
	for name, by := range map[string]time.Duration{"forward": hour, "back": -hour} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every "+(2*hour).String(), takes(0))
				f.startMany(3)
				f.sleepTo(hour * 3 / 2)
				f.store.step(by)
				f.sleepTo(hour*3/2 + 4*time.Second)
				stepped, trusted := f.clockEvents()
				require.Equal(t, []int{3, 0}, []int{stepped, trusted})
				require.Empty(t, f.runs.of("job"))
				f.sleepTo(hour*3/2 + 8*time.Second)
				_, trusted = f.clockEvents()
				require.Equal(t, 3, trusted)
				f.sleepTo(6 * hour)
				runs := f.runs.of("job")
				require.Equal(t, epoch.Add(2*hour), runs[0].Tick, "a misfire, when the clock was put forward")
				for i, r := range runs[1:] {
					require.Equal(t, epoch.Add(time.Duration(2*i+4)*hour), r.Tick)
					require.Equal(t, r.Tick, r.start.UTC().Add(by), "by the clock as it is now")
				}
			})
		})
	}
}

// TestForwardStepTakesNothingFromItsHolders steps by more than the TTL, once by so little that the
// step is taken in.
func TestForwardStepTakesNothingFromItsHolders(t *testing.T) {
	for name, by := range map[string]time.Duration{"taken in": ttl + time.Second, "held": 2*ttl + time.Second} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				for _, job := range []string{"a", "b", "c", "d", "e"} {
					f.job(job, "@every 1m", takes(20*time.Second))
				}
				f.leader("leader", takes(time.Hour))
				f.startMany(3)
				f.sleepTo(65 * time.Second)
				before := len(f.runs.of("leader"))
				f.store.step(by)
				f.sleepTo(100 * time.Second)
				for _, job := range []string{"a", "b", "c", "d", "e"} {
					require.Len(t, f.runs.of(job), 1, "%s", job)
					require.Equal(t, map[string]int{}, f.passed(job))
				}
				require.Len(t, f.runs.of("leader"), before)
			})
		})
	}
}

// TestLateFirstClaimTakesNothingOver has a replica's first claim of a tick reach the store after
// another was granted it, and after a step of more than the TTL and less than the limit: before the
// replica has seen the step, and after.
func TestLateFirstClaimTakesNothingOver(t *testing.T) {
	for name, ago := range map[string]time.Duration{"step unseen": 0, "step seen": 600 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			inFleet(t, func(f *fleet) {
				f.job("job", "@every 1m", takes(20*time.Second))
				var answers atomic.Int32
				f.observe = func(replica string, e scheduler.Event) {
					if e, ok := e.(scheduler.Claimed); ok && replica == "b" && e.Tick.Equal(epoch.Add(time.Minute)) {
						answers.Add(1)
					}
				}
				f.startMany(2)
				holder, late := f.replica("a").link, f.replica("b").link
				late.set(func(c call) fault { return fault{cut: c.verb == verbClaim} })
				holder.set(func(c call) fault { return fault{cut: c.verb == verbRenew} })
				f.sleepTo(61*time.Second + 500*time.Millisecond - ago) // looks are at whole seconds, the late claim at 61.55 s
				f.store.step(ttl + time.Second)
				f.sleepTo(61*time.Second + 500*time.Millisecond)
				late.heal()
				f.sleepTo(61*time.Second + 900*time.Millisecond)
				require.NotZero(t, answers.Load(), "the late claim was answered")
				holder.heal()
				f.sleepTo(100 * time.Second)
				require.Len(t, f.runs.of("job"), 1)
				require.Equal(t, map[string]int{}, f.passed("job"))
			})
		})
	}
}

func TestHeldReplicaReadsItsRecordsNoMoreOften(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		f.store.step(time.Hour)
		var looks atomic.Int32
		f.startOver("a", func(l *link) protocol.Store {
			l.set(func(c call) fault {
				if c.verb == verbTime {
					looks.Add(1)
				}
				return fault{}
			})
			return l
		}, scheduler.WithTTL(time.Minute))
		f.sleepTo(30 * time.Second)
		require.False(t, f.replica("a").Ready())
		require.InDelta(t, 4*30, looks.Load(), 40, "each 250 ms, and for heartbeats")
	})
}

func TestReplicaThatStartsInAJumpClaimsNothing(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		f.startMany(2)
		f.sleepTo(35 * time.Second)
		f.store.step(time.Hour)
		f.start("late")
		f.sleepTo(39 * time.Second)
		require.Len(t, f.runs.of("job"), 3)
		f.store.step(-time.Hour)
		f.sleepTo(59 * time.Second)
		require.Len(t, f.runs.of("job"), 5)
		f.sleepTo(2 * time.Minute)
		require.Len(t, f.runs.of("job"), 12)
		_, trusted := f.clockEvents()
		require.Equal(t, 3, trusted)
	})
}

// TestReplicaWithWrongClockFiresWithTheOthers has the store's clock disagree with that of all
// replicas, which to each is the same as a wrong clock of its own.
func TestReplicaWithWrongClockFiresWithTheOthers(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.store.step(-time.Hour)
		f.job("job", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Second))
		f.start("first")
		f.sleepTo(4 * time.Second)
		require.False(t, f.replica("first").Ready(), "alone it waits until the clock is steady")
		f.sleepTo(7 * time.Second)
		require.True(t, f.replica("first").Ready())
		f.sleepTo(29 * time.Second)
		f.start("second")
		f.sleepTo(30*time.Second + 500*time.Millisecond)
		require.True(t, f.replica("second").Ready(), "with one that vouches it does not")
		f.sleepTo(time.Minute)
		require.Len(t, f.runs.of("job"), 6)
	})
}

// beginAgain forgets what ran and what the store did: broken judges only what follows.
func (f *fleet) beginAgain() {
	f.store.mu.Lock()
	f.store.jobs = nil
	f.store.mu.Unlock()
	f.runs.mu.Lock()
	f.runs.all = nil
	f.runs.mu.Unlock()
}

// TestWatermarkInTheFutureIsNotWrittenBack has the clock be wrong for so long that it is accepted,
// and the store then lose its records: the jobs go on, by the clock as it is.
func TestWatermarkInTheFutureIsNotWrittenBack(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 2m", takes(0))
		f.startMany(2)
		f.sleepTo(3 * time.Minute)
		f.store.step(8 * time.Hour)
		f.sleepTo(6 * time.Minute)
		f.store.step(-8 * time.Hour)
		f.sleepTo(9 * time.Minute)
		require.NotEmpty(t, f.runs.of("job"))
		require.Empty(t, f.broken(), "up to here")
		f.beginAgain() // ticks that the wrong clock decided are lost with the records, and so are its tokens
		f.store.Forget()
		f.sleepTo(15 * time.Minute)
		runs := f.runs.of("job")
		require.Len(t, runs, 3)
		require.Equal(t, epoch.Add(10*time.Minute), runs[0].start.UTC())
	})
}

func TestReplicaStartedDuringAJumpReportsItOnce(t *testing.T) {
	inFleet(t, func(f *fleet) {
		f.job("job", "@every 10s", takes(0))
		f.store.step(time.Hour)
		f.startOver("a", func(l *link) protocol.Store {
			l.set(func(call) fault { return fault{there: 50 * time.Millisecond, back: 50 * time.Millisecond} })
			return l
		})
		f.sleepTo(4 * time.Second)
		stepped, _ := f.clockEvents()
		require.Equal(t, 1, stepped)
	})
}
