package httpfence

import (
	"context"
	"errors"
	"net/http"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/internal/fencing"
)

// Newest remembers the newest token of each resource. [*fence.Memory] is one, and what
// [github.com/solotick/solotick/fence/sqlfence.Table.In] returns.
type Newest interface {
	// Raise remembers token as the newest of the resource.
	//
	//   - A token that is lower than one it has remembered is refused with a [*fence.StaleError].
	//   - Comparing and remembering is one step.
	//   - Any other error means that it does not know.
	//   - It is safe for concurrent use.
	Raise(ctx context.Context, resource string, token int64) error
}

// Option changes what [Middleware] does.
type Option func(*options)

type options struct{ failed func(*http.Request, error) }

// WithFailed has f called with the error of a request that is answered with 503. The client does
// not get that error. f may be called by many goroutines at once. The default is to drop it.
func WithFailed(f func(r *http.Request, err error)) Option {
	return func(o *options) { o.failed = f }
}

// Middleware returns a function that wraps a handler so that it sees no request with a stale token.
// The package comment has the answers instead, and the gap that is left. resource names what a
// request writes to. A request for which it is empty passes without a look at its token; that is
// for methods that only read. The handler finds the token with [fence.FromContext].
func Middleware(newest Newest, resource func(*http.Request) string, opts ...Option) func(http.Handler) http.Handler {
	o := options{failed: func(*http.Request, error) {}}
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			name := resource(r)
			if name == "" {
				next.ServeHTTP(w, r)
				return
			}
			token, err := tokenOf(r)
			switch {
			case err != nil:
				answer(w, problem{Status: http.StatusBadRequest, Title: "no fencing token", Detail: err.Error()})
				return
			case token == 0:
				answer(w, problem{Status: http.StatusPreconditionRequired, Title: "fencing token required",
					Detail: "send the token of the run in the header " + TokenHeader})
				return
			}
			if err := fencing.Validate(name, token); err != nil {
				answer(w, problem{Status: http.StatusBadRequest, Title: "no such resource", Detail: err.Error()})
				return
			}
			if err := newest.Raise(r.Context(), name, token); err != nil {
				if !Refuse(w, err) {
					o.failed(r, err)
					answer(w, problem{Status: http.StatusServiceUnavailable, Title: "newest fencing token unknown",
						Detail: "the newest token could not be asked for; nothing was written, and the request may be sent again"})
				}
				return
			}
			next.ServeHTTP(w, r.WithContext(fence.NewContext(r.Context(), token)))
		})
	}
}

// Refuse answers with 412, as [Middleware] does, if err is a [*fence.StaleError], and reports
// whether it is. It is for handlers that compare once more in the step that writes.
func Refuse(w http.ResponseWriter, err error) bool {
	stale, ok := errors.AsType[*fence.StaleError](err)
	if !ok {
		return false
	}
	w.Header().Set(NewestHeader, format(stale.Newest))
	answer(w, problem{
		Status: http.StatusPreconditionFailed, Title: "stale fencing token",
		Detail:   "the resource has seen a higher token: another was granted the lease since; end the run",
		Resource: stale.Resource, Token: stale.Token, Newest: stale.Newest,
	})
	return true
}
