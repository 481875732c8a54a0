package guard

import "context"

type tokenKey struct{}

// NewContext returns a context that carries a fencing token: for a lease that is not a run's, and for whoever was called
// with a token and calls others under it.
func NewContext(ctx context.Context, token int64) context.Context {
	return context.WithValue(ctx, tokenKey{}, token)
}

// FromContext returns the token that [NewContext] put into ctx.
func FromContext(ctx context.Context) (token int64, ok bool) {
	token, ok = ctx.Value(tokenKey{}).(int64)
	return token, ok
}
