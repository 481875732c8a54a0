package fence

import (
	"errors"
	"fmt"
)

// ErrStale matches the error of every fence that refuses a write because a newer holder has written
// or checked. The error is a [*StaleError]. End the run: no fence accepts the same token later.
var ErrStale = errors.New("fence: stale fencing token")

// StaleError has the refused token, and the resource that refused it.
type StaleError struct {
	Resource string // the target of the write, as the fence names it
	Token    int64  // the token that was refused
	Newest   int64  // the highest token that the resource has seen
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("fence: stale fencing token: %q has seen token %d, which is newer than %d; "+
		"end this run, for another was granted its lease", e.Resource, e.Newest, e.Token)
}

// Is makes errors.Is(err, ErrStale) true.
func (e *StaleError) Is(target error) bool { return target == ErrStale }
