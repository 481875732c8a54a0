package lock_test

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// permits is the model's state of a lock that has a limit on the permits held at once: with a limit
// of 1 it is a mutex; with all of them for a writer, a read-write lock.
type permits struct {
	used, limit int
	token       int64 // the highest of any grant
	owner       int   // who holds it, where it can be entered again, for what token, and how often
	entered     int
}

type action string

const (
	grants action = "grant"
	enters action = "enter" // once more
	ends   action = "end"   // by release or loss
)

// step is a grant, a further entry, or the end of a hold, as its worker saw it.
type step struct {
	action action
	n      int // permits
	owner  int
	token  int64
}

// permitsModel says what may happen to a lock of so many permits.
func permitsModel(limit int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return permits{limit: limit} },
		Step: func(state, input, _ any) (bool, any) {
			p, s := state.(permits), input.(step)
			switch s.action {
			case grants:
				if p.used+s.n > p.limit || s.token <= p.token {
					return false, state
				}
				p.used, p.token, p.owner, p.entered = p.used+s.n, s.token, s.owner, 1
			case enters:
				if p.used == 0 || p.owner != s.owner || p.token != s.token {
					return false, state
				}
				p.entered++
			case ends:
				if p.used < s.n {
					return false, state
				}
				if p.limit == 1 {
					if p.owner != s.owner {
						return false, state
					}
					if p.entered--; p.entered > 0 {
						return true, p
					}
				}
				p.used -= s.n
			}
			return true, p
		},
		DescribeOperation: func(in, _ any) string { return fmt.Sprintf("%+v", in) },
	}
}
