package guard

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrStale is matched by the error of every guard that refused a write because a newer holder has been there. The error
// is a [*StaleError]. End the run: the same token will never be let in again.
var ErrStale = errors.New("guard: stale fencing token")

// StaleError says which token was refused, and by what.
type StaleError struct {
	Resource string // what was to be written, as the guard names it
	Token    int64  // the token that was refused
	Newest   int64  // the token that it has seen, which is higher
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("guard: stale fencing token: %q has seen token %d, which is newer than %d; "+
		"end this run, for another was granted its lease", e.Resource, e.Newest, e.Token)
}

// Is makes errors.Is(err, ErrStale) true.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

const (
	// MaxToken is the highest token there is.
	MaxToken = 1<<53 - 1
	// MaxResource is how many bytes the name of a resource may have.
	MaxResource = 255
)

// Validate returns every fault of a resource's name and a token, joined; nil when there is none. Every guard of this
// module calls it, so that a name is good for all of them: 1 to [MaxResource] bytes of valid UTF-8 without a NUL. A token is
// from 1 to [MaxToken].
func Validate(resource string, token int64) error {
	var faults []error
	if resource == "" || len(resource) > MaxResource || !utf8.ValidString(resource) || strings.ContainsRune(resource, 0) {
		faults = append(faults, fmt.Errorf("guard: resource %.300q: must be 1 to %d bytes of UTF-8 without a NUL", resource, MaxResource))
	}
	if token < 1 || token > MaxToken {
		faults = append(faults,
			fmt.Errorf("guard: token %d: must be from 1 to %d; pass the token of the run or of the lease", token, int64(MaxToken)))
	}
	return errors.Join(faults...)
}
