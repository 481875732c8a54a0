package fence

import "context"

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
