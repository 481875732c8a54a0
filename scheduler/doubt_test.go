package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/engine"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/scheduler"
)

// inApartFleet runs a test of replicas that each have a session of their own, over a medium that
// loses things.
func inApartFleet(t *testing.T, test func(f *fleet, m *medium)) {
	inLossyFleet(t, func(f *fleet) { test(f, newMedium()) })
}

// cannotClaim keeps a replica from claiming: it lives, and answers.
func cannotClaim(c call) fault { return fault{cut: c.verb == verbClaim} }

// requireOnce judges that ticks of a job, given as so long after the epoch, ran once each, at most
// late.
func (f *fleet) requireOnce(job string, late time.Duration, ticks ...time.Duration) {
	f.t.Helper()
	for _, tick := range ticks {
		runs := f.runsOf(job, at(tick))
		require.Len(f.t, runs, 1, "%s at %s: %s", job, tick, f.story(job))
		require.LessOrEqual(f.t, runs[0].start.Sub(runs[0].Tick), late, "%s at %s", job, tick)
	}
}

func every(step, from, to time.Duration) (ticks []time.Duration) {
	for tick := from; tick <= to; tick += step {
		ticks = append(ticks, tick)
	}
	return ticks
}

func TestRecordDeletedAloneLosesNoTick(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			inApartFleet(t, func(f *fleet, m *medium) {
				f.job("job", "@every 10s", takes(0))
				f.startApart(m, replicas)
				for tick := 20 * time.Second; tick <= 80*time.Second; tick += 20 * time.Second {
					f.sleepTo(tick - 100*time.Millisecond)
					m.forget("job")
				}
				f.sleepTo(95 * time.Second)
				f.requireOnce("job", time.Second, every(10*time.Second, 10*time.Second, 90*time.Second)...)
				lost, _ := eventsWhere(f, func(e scheduler.RecordsLost) bool { return e.Job != "" })
				require.Len(t, lost, 4, "one for each")
			})
		})
	}
}

// TestRecordDeletedAfterItsTickRunsNothingTwice also when the tick is looked at by replicas that
// did not run it.
func TestRecordDeletedAfterItsTickRunsNothingTwice(t *testing.T) {
	inApartFleet(t, func(f *fleet, m *medium) {
		f.job("job", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
		f.startApart(m, 3)
		for tick := 20 * time.Second; tick <= 80*time.Second; tick += 20 * time.Second {
			f.sleepTo(tick + 20*time.Millisecond)
			m.forget("job")
		}
		f.sleepTo(95 * time.Second)
		f.requireOnce("job", time.Second, every(10*time.Second, 10*time.Second, 90*time.Second)...)
	})
}

// TestReplicaThatKnowsLeastAsksFirst of a record that is gone: it was cut off for a while.
func TestReplicaThatKnowsLeastAsksFirst(t *testing.T) {
	inApartFleet(t, func(f *fleet, m *medium) {
		f.job("job", "@every 1s", takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
		f.startApart(m, 3)
		f.sleepTo(10500 * time.Millisecond)
		owner := f.owner("job")
		late := f.replicas[0]
		if late == owner {
			late = f.replicas[1]
		}
		late.link.cut()
		f.sleepTo(30500 * time.Millisecond)
		for _, r := range f.replicas {
			if r != late {
				r.link.set(cannotClaim)
			}
		}
		m.forget("job")
		late.link.heal()
		f.sleepTo(60500 * time.Millisecond)
		f.requireOnce("job", 3*time.Second, every(time.Second, time.Second, 60*time.Second)...)
	})
}

func TestPausedJobStaysPausedAfterLoss(t *testing.T) {
	inApartFleet(t, func(f *fleet, m *medium) {
		f.job("job", "@every 10s", takes(0))
		f.startApart(m, 3)
		f.sleepTo(15 * time.Second)
		session, err := engine.NewSession(m, protocol.DefaultNamespace, engine.Options{})
		require.NoError(t, err)
		_, err = session.Pause(context.Background(), "job", protocol.Pause{By: "ops"})
		require.NoError(t, err)
		f.sleepTo(18 * time.Second)
		m.forget("job")
		f.sleepTo(45 * time.Second)
		require.Equal(t, "10s", f.story("job"))
		_, err = session.Resume(context.Background(), "job", protocol.Resume{By: "ops"})
		require.NoError(t, err)
		f.sleepTo(75 * time.Second)
		require.Equal(t, "10s, 50s, 1m0s, 1m10s", f.story("job"))
	})
}

// longRun has a replica run a tick of 10 s, and takes a snapshot meanwhile. It returns when that
// replica has settled it.
func longRun(f *fleet, m *medium) (owner *replica, goBack func()) {
	f.job("job", "@every 20s", takes(4*time.Second), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
	f.startApart(m, 3)
	f.sleepTo(41 * time.Second)
	require.Len(f.t, f.runs.running("job"), 1)
	goBack = m.snapshot()
	f.sleepTo(50 * time.Second)
	return f.owner("job"), goBack
}

// TestSettledTickStaysSettledWhenAnotherAsksFirst after a snapshot has come back in which it runs.
func TestSettledTickStaysSettledWhenAnotherAsksFirst(t *testing.T) {
	for how, restart := range map[string]func(m *medium){
		"connections are lost": (*medium).disconnect,
		"connections are kept": func(*medium) {},
	} {
		t.Run(how, func(t *testing.T) {
			inApartFleet(t, func(f *fleet, m *medium) {
				owner, goBack := longRun(f, m)
				goBack()
				restart(m)
				owner.link.set(cannotClaim)
				f.sleepTo(95 * time.Second)
				f.requireOnce("job", 3*time.Second, every(20*time.Second, 20*time.Second, 80*time.Second)...)
			})
		})
	}
}

// TestLostReportsDoNotMatterAfterSnapshot: the replica that settled the tick looks after it when
// connections are back, and others take nothing over before that.
func TestLostReportsDoNotMatterAfterSnapshot(t *testing.T) {
	step := 100 * time.Millisecond
	if raceDetected {
		step *= 3
	}
	for back := 44100 * time.Millisecond; back < 48*time.Second; back += step {
		t.Run(back.String(), func(t *testing.T) {
			inApartFleet(t, func(f *fleet, m *medium) {
				f.job("job", "@every 20s", takes(4*time.Second), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
				f.startApart(m, 3)
				f.sleepTo(41 * time.Second)
				for _, r := range f.replicas {
					r.link.set(func(c call) fault { return fault{cut: c.verb == verbReceive} })
				}
				goBack := m.snapshot()
				f.sleepTo(back)
				owner := f.owner("job")
				goBack()
				m.disconnect()
				owner.link.set(func(c call) fault { return fault{cut: c.verb == verbReceive || c.verb == verbClaim} })
				f.sleepTo(95 * time.Second)
				f.requireOnce("job", 5*time.Second, every(20*time.Second, 20*time.Second, 80*time.Second)...)
			})
		})
	}
}

// TestReportedTickWithoutRecordIsNotRunAgain although the replica that ran it is dead.
func TestReportedTickWithoutRecordIsNotRunAgain(t *testing.T) {
	inApartFleet(t, func(f *fleet, m *medium) {
		f.job("job", "@every 10s", takes(0), jobs.WithMisfire(jobs.MisfireAll, time.Minute))
		f.startApart(m, 3)
		f.sleepTo(21 * time.Second)
		f.owner("job").link.cut()
		m.forget("job")
		f.sleepTo(55 * time.Second)
		f.requireOnce("job", 3*time.Second, every(10*time.Second, 10*time.Second, 50*time.Second)...)
	})
}

// TestRunIsWrittenBackBeforeTheNextTick of a job whose record was deleted right before that.
func TestRunIsWrittenBackBeforeTheNextTick(t *testing.T) {
	inApartFleet(t, func(f *fleet, m *medium) {
		f.job("job", "@every 10s", takes(15*time.Second))
		f.startApart(m, 3)
		for tick := 20 * time.Second; tick <= 100*time.Second; tick += 20 * time.Second {
			f.sleepTo(tick - 50*time.Millisecond)
			owner := f.owner("job")
			owner.link.set(cannotClaim)
			m.forget("job")
			f.sleepTo(tick + 3*time.Second)
			owner.link.heal()
		}
		f.sleepTo(105 * time.Second)
		for _, a := range f.runs.of("job") {
			require.Equal(t, 1, a.Attempt)
			require.Len(t, f.runsOf("job", a.Tick), 1)
		}
		require.Empty(t, f.beside("job"))
	})
}

func TestQuestionThatIsLostIsAskedAgain(t *testing.T) {
	inApartFleet(t, func(f *fleet, m *medium) {
		owner, goBack := longRun(f, m)
		f.sleepTo(59500 * time.Millisecond)
		goBack()
		owner.link.set(func(c call) fault {
			return fault{cut: c.verb == verbClaim || c.verb == verbReceive && time.Now().Before(at(61500*time.Millisecond))}
		})
		f.sleepTo(95 * time.Second)
		f.requireOnce("job", 3*time.Second, every(20*time.Second, 20*time.Second, 80*time.Second)...)
	})
}

// TestWhoKnewIsDeadAndOthersGoOn within the time of an inquiry.
func TestWhoKnewIsDeadAndOthersGoOn(t *testing.T) {
	inApartFleet(t, func(f *fleet, m *medium) {
		owner, goBack := longRun(f, m)
		owner.link.cut()
		goBack()
		m.disconnect()
		f.sleepTo(95 * time.Second)
		f.requireOnce("job", 5*time.Second, 60*time.Second, 80*time.Second)
		require.Len(t, f.runsOf("job", at(40*time.Second)), 2, "nobody is left who could say that it was settled")
	})
}

// TestFrozenMemberIsWaitedFor for the time of an inquiry: it alone knows that the tick was settled.
func TestFrozenMemberIsWaitedFor(t *testing.T) {
	inApartFleet(t, func(f *fleet, m *medium) {
		owner, goBack := longRun(f, m)
		f.sleepTo(59500 * time.Millisecond)
		goBack()
		owner.link.hang()
		f.sleepTo(61500 * time.Millisecond)
		owner.link.heal()
		f.sleepTo(95 * time.Second)
		f.requireOnce("job", 3*time.Second, every(20*time.Second, 20*time.Second, 80*time.Second)...)
	})
}

// TestMembersOfBeforeAnOutageAreAsked though their heartbeats have run out meanwhile: a backup was
// restored, and the replica that settled the tick is connected again after the others.
func TestMembersOfBeforeAnOutageAreAsked(t *testing.T) {
	for late := 100 * time.Millisecond; late < 2*time.Second; late += 600 * time.Millisecond {
		t.Run(late.String(), func(t *testing.T) {
			inApartFleet(t, func(f *fleet, m *medium) {
				owner, goBack := longRun(f, m)
				for _, r := range f.replicas {
					r.link.cut()
				}
				goBack()
				m.disconnect()
				f.sleepTo(70 * time.Second)
				for _, r := range f.replicas {
					if r != owner {
						r.link.heal()
					}
				}
				f.sleepTo(70*time.Second + late)
				owner.link.heal()
				f.sleepTo(95 * time.Second)
				f.requireOnce("job", 3*time.Second, 20*time.Second, 40*time.Second, 80*time.Second)
			})
		})
	}
}

func TestInquiryOutlivesLostMessagesAndReplies(t *testing.T) {
	inApartFleet(t, func(f *fleet, m *medium) {
		owner, goBack := longRun(f, m)
		goBack()
		for i, r := range f.replicas {
			n := 0
			r.link.set(func(c call) fault {
				switch c.verb {
				case verbReceive, verbPublish, verbSync, verbClaim:
					n++
					return fault{cut: r == owner && c.verb == verbClaim || c.verb == verbReceive && n%2 == i%2, lost: n%3 == 0}
				}
				return fault{}
			})
		}
		f.sleepTo(95 * time.Second)
		f.requireOnce("job", 3*time.Second, every(20*time.Second, 20*time.Second, 80*time.Second)...)
	})
}

func TestSnapshotOnSlowerClockRunsNothingTwice(t *testing.T) {
	inApartFleet(t, func(f *fleet, m *medium) {
		owner, goBack := longRun(f, m)
		goBack()
		m.step(-2 * time.Second)
		m.disconnect()
		owner.link.set(cannotClaim)
		f.sleepTo(105 * time.Second)
		f.requireOnce("job", 8*time.Second, every(20*time.Second, 20*time.Second, 80*time.Second)...)
	})
}
