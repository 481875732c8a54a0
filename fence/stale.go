package fence

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
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

const (
	// MaxToken is the highest token.
	MaxToken = 1<<53 - 1
	// MaxResource is the most bytes in the name of a resource.
	MaxResource = 255
)

// Validate returns every fault of a resource's name and a token, joined, or nil. A name is 1 to
// [MaxResource] bytes of valid UTF-8 without a NUL, and a token is from 1 to [MaxToken]. Every
// fence of this module calls it, so a name is valid for all of them.
func Validate(resource string, token int64) error {
	var faults []error
	if resource == "" || len(resource) > MaxResource || !utf8.ValidString(resource) || strings.ContainsRune(resource, 0) {
		faults = append(faults, fmt.Errorf("fence: resource %.300q: must be 1 to %d bytes of UTF-8 without a NUL", resource, MaxResource))
	}
	if token < 1 || token > MaxToken {
		faults = append(faults,
			fmt.Errorf("fence: token %d: must be from 1 to %d; pass the token of the run or of the lease", token, int64(MaxToken)))
	}
	return errors.Join(faults...)
}
