package protocol

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

var (
	// ErrFenced is returned to a holder whose grant is not current: another was granted the
	// tick since, or it is settled. Stop the work; what it still writes must carry the token,
	// so that it can be refused.
	ErrFenced = errors.New("lease: fenced: the grant is not current any more")

	// ErrReplaced is the cause of a lease's context when its tick has to make room for a newer
	// one. The lease is not renewed any more; until its deadline the holder can still settle it.
	ErrReplaced = errors.New("lease: replaced by a newer tick")

	// ErrRecord is [driver.ErrRecord].
	ErrRecord = driver.ErrRecord
	// ErrPermanent is [driver.ErrPermanent].
	ErrPermanent = driver.ErrPermanent
)

// Permanent is [driver.Permanent].
func Permanent(err error) error { return driver.Permanent(err) }

// Ended returns the error of a call that failed with err when its context ended with cause. What
// err says besides is said, and nothing twice.
func Ended(cause, err error) error {
	switch {
	case cause == nil, errors.Is(err, cause):
		return err
	case err == context.DeadlineExceeded, err == context.Canceled: //nolint:errorlint // it says no more
		return cause
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// ErrOutOfBounds is matched by the error of what carries an Until, and reached the store when its
// clock was past that: nothing has changed. The error is a [*BoundsError]. Compare the store's
// clock with another before asking again.
var ErrOutOfBounds = errors.New("lease: the store's clock is past the bound of the request")

// BoundsError says what time it was for the store.
type BoundsError struct {
	Until time.Time // the request's
	Now   time.Time // by the store's clock
}

func (e *BoundsError) Error() string {
	return fmt.Sprintf("lease: the store's clock says %s, %s past the bound of the request, so nothing was changed: has that clock stepped?",
		e.Now.UTC().Format(time.RFC3339), e.Now.Sub(e.Until).Round(time.Millisecond))
}

// Is makes errors.Is(err, ErrOutOfBounds) true.
func (e *BoundsError) Is(target error) bool { return target == ErrOutOfBounds }

// The reasons for which a lease is lost: lease.LostError says what each means.
const (
	LostExpired = "expired"
	LostFenced  = "fenced"
	LostMaxHold = "max_hold"
)
