package lease

import "time"

var start = time.Now()

// suspended returns for how long the machine has been suspended, as of the reading t of its clock. It is a variable so
// that tests can suspend the machine.
var suspended = sleptUntil

// Suspended returns for how long the machine has been suspended from the start of this process until t, a reading of the
// local clock with its monotonic part. That part stands still meanwhile, and the clocks of others do not. It is 0 where
// the system does not say: it does on Linux.
func Suspended(t time.Time) time.Duration { return suspended(t) }

// instant is a reading of this process's clock in nanoseconds since some fixed moment. It never steps, and on Linux it
// counts the time that the machine was suspended.
type instant int64

func now() instant { return at(time.Now()) }

func at(t time.Time) instant { return instant(t.Sub(start) + suspended(t)) }

func (i instant) add(d time.Duration) instant { return i + instant(d) }

func (i instant) until(j instant) time.Duration { return time.Duration(j - i) }

// time converts i to a reading of the local clock. Both come from one reading, so that being frozen meanwhile cannot make
// the result late.
func (i instant) time() time.Time {
	t := time.Now()
	return t.Add(at(t).until(i))
}
