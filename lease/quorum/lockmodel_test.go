package quorum_test

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// nextOf is a grant of a lock, or its end by release or by its deadline, as its holder knows it.
type nextOf struct {
	ends  bool
	n     int // permits
	token int64
}

// permits is the model's state of a lock of so many permits.
type permits struct {
	used, limit int
	token       int64 // the highest of any grant
}

// aLock says what may happen to a lock: never are more permits held than there are, and tokens
// rise.
func aLock(limit int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return permits{limit: limit} },
		Step: func(state, in, _ any) (bool, any) {
			p, i := state.(permits), in.(nextOf)
			if i.ends {
				p.used -= i.n
				return p.used >= 0, p
			}
			ok := p.used+i.n <= p.limit && i.token > p.token
			p.used, p.token = p.used+i.n, i.token
			return ok, p
		},
		DescribeOperation: func(in, _ any) string { return fmt.Sprintf("%+v", in) },
	}
}
