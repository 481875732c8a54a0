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
// bubble: a day takes a moment. Each replica has its own way to the store.
//
//	Cut, Heal      its calls fail, as with a broken network
//	LoseReplies    its calls are done, and it never learns so
//	Pause, Resume  it freezes, as with SIGSTOP or a long garbage collection
//	Kill           it is gone, as with kill -9
//	Forget         the store loses everything
//	StepClock      the store's clock steps
//
// The job writes to a [Gate], as to a table. It makes a frozen replica real. A write that was about
// to happen waits until the replica goes on, and then happens whatever the context says. A process
// that is stopped between its last look at the lease and the write does the same. A gate refuses
// stale tokens, if the job gives it one.
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
