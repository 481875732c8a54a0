package fence

import (
	"context"
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

type tokenKey struct{}

// NewContext returns a context that carries a fencing token for calls to other services. The token
// is of a lease that belongs to no run, or of the caller of a service.
func NewContext(ctx context.Context, token int64) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// FromContext returns the token that [NewContext] put into ctx.
func FromContext(ctx context.Context) (token int64, ok bool) {
	token, ok = ctx.Value(tokenKey{}).(int64)
	return token, ok
}
