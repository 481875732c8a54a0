package httpfence

import (
	"io"
	"net/http"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/jobs"
)

// Transport adds the fencing token to requests. It takes the one that [fence.NewContext] put into
// the request's context, or else that of the run that the context belongs to. A request whose
// context has neither, or that has the header already, is sent as it is. It is safe for concurrent
// use. The zero value is ready.
//
// When the answer says that the token is stale, RoundTrip returns a [*fence.StaleError] in its
// place. Its resource is the request's method and URL, without query and user; [http.Client] wraps
// it, so look for it with [errors.Is] or [errors.As]. In this it breaks a rule of
// [http.RoundTripper], which leaves answers to its caller. Nobody should take a refused write for
// done because he forgot to look at the status.
type Transport struct {
	// Base sends the requests; nil is [http.DefaultTransport].
	Base http.RoundTripper
}

// RoundTrip sends a copy of the request.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	token, ok := fence.FromContext(r.Context())
	if !ok {
		run, has := jobs.FromContext(r.Context())
		token, ok = run.Token, has
	}
	sent := r
	if ok && r.Header.Get(TokenHeader) == "" {
		sent = r.Clone(r.Context())
		if sent.Header == nil {
			sent.Header = make(http.Header)
		}
		sent.Header.Set(TokenHeader, format(token))
	}
	response, err := base.RoundTrip(sent)
	if err != nil || response.StatusCode != http.StatusPreconditionFailed {
		return response, err
	}
	newest, err := parse(response.Header.Get(NewestHeader))
	if err != nil {
		return response, nil //nolint:nilerr // a 412 that is not ours
	}
	// Reading the end of a small answer keeps the connection.
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 4<<10))
	_ = response.Body.Close()
	refused, _ := parse(sent.Header.Get(TokenHeader))
	u := *r.URL
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return nil, &fence.StaleError{Resource: r.Method + " " + u.String(), Token: refused, Newest: newest}
}
