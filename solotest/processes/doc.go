// Package processes tests a job against the faults of a fleet of real processes, on a real Redis.
// It does what package solotest does in virtual time: slower, and nothing in it is modelled.
//
//	func TestInvoicesSurviveADeadReplica(t *testing.T) {
//		processes.Run(t, 3, func(r *processes.Replica) { // in each replica
//			r.Func("invoices", "@daily", invoices(r.WriteOnce)) // the code under test
//		}, func(f *processes.Fleet) { // in the test
//			f.Gate().After(1, f.Kill) // the replica dies after its first write
//			f.Trigger("invoices")
//			f.AwaitSucceeded("invoices", 1)
//			f.AssertOnce("invoices", f.Began(), time.Now())
//			f.Gate().AssertOnce()
//		})
//	}
//
// Each replica is the test binary, started again: it runs the test up to Run, which there calls the
// first function, and does not return. So what comes before Run happens in every replica, too, and
// variables that both functions use are not shared.
//
// Each replica has a proxy of its own before Redis, or before the servers of another store.
//
//	Kill, Stop, Start     SIGKILL, SIGTERM, and another process in its place
//	Pause, Resume         SIGSTOP, SIGCONT
//	Cut, Delay, Heal      its connections are cut, or slow
//	LoseReplies           Redis does what it asks, and its connection breaks instead of the reply
//	Forget                Redis loses everything of the fleet
//	StepClock             the clock of Redis steps, with [WithClock]
//
// [WithSkew] makes the clock of a replica wrong for the whole test. It shows whether a job takes
// the time of day from its own clock where it should take the tick's.
//
// The job writes to the [Gate], as to a table. It is in the test process, which no fault
// touches, so it knows the order of all writes. It refuses stale tokens, if the job gives it one.
//
// Replicas end with the test, also when that is killed: on Linux, even if they are frozen. Redis is
// a redis-server of the PATH, for this test alone, or that of [WithRedis]. With [WithStore] the
// fleet meets on another store.
package processes
