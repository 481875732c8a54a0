// Package solotest tests a job against the faults of a fleet, in one process and in virtual time.
//
//	func TestInvoicesSurviveADeadReplica(t *testing.T) {
//		solotest.Run(t, 3, func(t *testing.T, f *solotest.Fleet) {
//			gate := f.Gate()
//			f.Func("invoices", "@every 1m", invoices(gate.WriteOnce)) // the code under test
//			gate.After(1, f.Kill)                                     // the replica dies after its first write
//			f.Advance(5*time.Minute + 30*time.Second)
//			f.AssertOnce("invoices", f.Began().Add(time.Minute), f.Now())
//			gate.AssertOnce()
//		})
//	}
//
// A Fleet has replicas named r1, r2 and so on, over one store in memory, in a testing/synctest
// bubble: a day takes a moment. Each replica has its own way to the store. They know each other, as
// those of a real fleet do.
//
//	StopStore, FreezeStore, StartStore  the store is away, or answers nobody
//	Cut, Heal                           a replica's calls fail, as with a broken network
//	LoseReplies                         they are done, and it never learns so
//	Pause, Resume                       it freezes, as with SIGSTOP or a long garbage collection
//	Kill, Stop, Start                   it is gone, as with kill -9; it ends as with SIGTERM; another begins
//	Forget                              the store loses everything
//	StepClock                           the store's clock steps
//	PauseJob, ResumeJob, Trigger        what operators do
//	Redefine                            a job gets another definition
//	Put, Schedules, RunNext             schedules of a job that lie in the store
//
// AdvanceUnder lets a [Nemesis] choose: random faults of all these kinds, at any moment, by a seed.
//
//	func TestInvoicesSurviveAnything(t *testing.T) {
//		for seed := range uint64(20) {
//			solotest.Run(t, 3, func(t *testing.T, f *solotest.Fleet) {
//				gate := f.Gate()
//				f.Func("invoices", "@every 1m", invoices(gate.WriteOnce))
//				f.AdvanceUnder(solotest.Nemesis{Seed: seed}, time.Hour)
//				f.Advance(5*time.Minute)
//				gate.AssertOnce()
//				gate.AssertNoStale()
//			})
//		}
//	}
//
// The seed draws the faults. The order of goroutines at one instant is left to the runtime, so
// repeat a seed that fails a few times.
//
// The job writes to a [Gate], as to a table. It makes a frozen replica real. A write that was about
// to happen waits until the replica goes on, and then happens whatever the context says. A process
// that is stopped between its last look at the lease and the write does the same. A gate refuses
// stale tokens, if the job gives it one.
//
// Checkpoints of a handler work as in a fleet: a run after a fault has the position that was written
// before it.
//
// What it cannot do: goroutines of a frozen or killed replica go on between their writes, since
// they share the process. Nothing but their calls of the gate is held back.
//
// A handler that sleeps on without looking at its context blocks the bubble when the test ends.
// That is a panic of testing/synctest ("deadlock"), which ends the test binary.
//
// A gate can be a barrier before the real write as well, so that a fault of the job's own statement
// shows: the job writes to the gate first, then to its table.
//
// The replicas' own clocks have no fault of their own, since a scheduler never asks them for the
// time of day. The store's clock does to a fleet whatever a wrong clock can do.
package solotest
