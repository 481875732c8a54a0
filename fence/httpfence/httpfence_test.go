package httpfence

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fence"
	"github.com/solotick/solotick/internal/fencing"
	"github.com/solotick/solotick/jobs"
)

func byPath(r *http.Request) string { return r.URL.Path }

// ask sends a request with these values of the token's header through the middleware, and says
// whether it was let in.
func ask(t *testing.T, h func(http.Handler) http.Handler, path string, tokens ...string) (w *httptest.ResponseRecorder, in bool) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/", nil)
	r.URL.Path = path
	for _, token := range tokens {
		r.Header.Add(TokenHeader, token)
	}
	w = httptest.NewRecorder()
	h(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		in = true
		w.WriteHeader(http.StatusNoContent)
	})).ServeHTTP(w, r)
	return w, in
}

func TestOnlyRequestsWithTheNewestTokenPass(t *testing.T) {
	h := Middleware(new(fence.Memory), byPath)
	for _, step := range []struct {
		path, token string
		want        int
	}{
		{"/a", "5", 204}, {"/a", "5", 204}, {"/a", "4", 412}, {"/b", "4", 204}, {"/a", "9007199254740991", 204}, {"/a", "6", 412}, {"/a", "06", 412},
	} {
		w, in := ask(t, h, step.path, step.token)
		require.Equal(t, step.want, w.Code, step)
		require.Equal(t, step.want == 204, in, step)
	}
}

func TestWhatIsRefusedIsAnsweredWithAProblem(t *testing.T) {
	h := Middleware(new(fence.Memory), byPath)
	_, in := ask(t, h, "/a", "6")
	require.True(t, in)
	for _, c := range []struct {
		path   string
		tokens []string
		want   string
	}{
		{"/a", []string{"5"}, `{"status": 412, "title": "stale fencing token", "resource": "/a", "token": 5, "newest": 6,
			"detail": "the resource has seen a higher token: another was granted the lease since; end the run"}`},
		{"/a", nil, `{"status": 428, "title": "fencing token required", "detail": "send the token of the run in the header Solotick-Fencing-Token"}`},
		{"/a", []string{"x"}, `{"status": 400, "title": "no fencing token", "detail": "token \"x\": must be an integer from 1 to 9007199254740991"}`},
		{"/a", []string{"7", "7"}, `{"status": 400, "title": "no fencing token", "detail": "Solotick-Fencing-Token: is there 2 times; must be there once"}`},
	} {
		w, in := ask(t, h, c.path, c.tokens...)
		require.False(t, in)
		require.JSONEq(t, c.want, w.Body.String())
		var p problem
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
		require.Equal(t, p.Status, w.Code)
		require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
		require.Equal(t, p.Status == 412, w.Header().Get(NewestHeader) == "6")
	}
	for _, token := range []string{"", "0", "-1", "+1", "1.0", "9007199254740992", "1e3", " 5 5", "0x5"} {
		w, in := ask(t, h, "/a", token)
		require.False(t, in)
		require.Equal(t, 400, w.Code, token)
	}
	w, in := ask(t, h, "/"+strings.Repeat("x", fencing.MaxResource), "5")
	require.False(t, in)
	require.Equal(t, 400, w.Code)
}

func TestWhatNamesNoResourceIsLetThrough(t *testing.T) {
	h := Middleware(new(fence.Memory), func(*http.Request) string { return "" })
	for _, tokens := range [][]string{nil, {"x"}, {"1"}} {
		_, in := ask(t, h, "/a", tokens...)
		require.True(t, in)
	}
}

type broken struct{ err error }

func (b broken) Raise(context.Context, string, int64) error { return b.err }

func TestWhenNobodyKnowsNobodyIsLetIn(t *testing.T) {
	secret := errors.New("secret")
	var reported error
	for _, opts := range [][]Option{nil, {WithFailed(func(_ *http.Request, err error) { reported = err })}} {
		w, in := ask(t, Middleware(broken{secret}, byPath, opts...), "/a", "5")
		require.False(t, in)
		require.Equal(t, 503, w.Code)
		require.NotContains(t, w.Body.String(), "secret")
	}
	require.Equal(t, secret, reported)
}

func TestTheHandlerFindsTheToken(t *testing.T) {
	var got int64
	h := Middleware(new(fence.Memory), byPath)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got, _ = fence.FromContext(r.Context())
	}))
	r := httptest.NewRequestWithContext(fence.NewContext(t.Context(), 99), http.MethodPut, "/a", nil)
	r.Header.Set(TokenHeader, "5")
	h.ServeHTTP(httptest.NewRecorder(), r)
	require.Equal(t, int64(5), got)
}

func TestRefuseAnswersForStaleTokensOnly(t *testing.T) {
	for _, err := range []error{nil, errors.New("mine"), fence.ErrStale} {
		w := httptest.NewRecorder()
		require.False(t, Refuse(w, err))
		require.Empty(t, w.Header())
		require.Empty(t, w.Body)
	}
	w := httptest.NewRecorder()
	w.Header().Set("Content-Length", "3")
	require.True(t, Refuse(w, errors.Join(errors.New("mine"), &fence.StaleError{Resource: "a", Token: 5, Newest: 6})))
	require.Equal(t, 412, w.Code)
	require.Equal(t, "6", w.Header().Get(NewestHeader))
	require.Empty(t, w.Header().Get("Content-Length"))
}

// answering is a round tripper that answers with what it is given, and remembers the request.
type answering struct {
	status int
	newest string
	err    error
	sent   *http.Request
	body   *closing
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	a.sent = r
	if a.err != nil {
		return nil, a.err
	}
	a.body = &closing{Reader: strings.NewReader("body")}
	response := &http.Response{StatusCode: a.status, Header: make(http.Header), Body: a.body, Request: r}
	if a.newest != "" {
		response.Header.Set(NewestHeader, a.newest)
	}
	return response, nil
}

func request(ctx context.Context, t *testing.T) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, "https://user:secret@example.org/a?key=secret#x", http.NoBody)
	require.NoError(t, err)
	return r
}

func TestTokenComesFromContextThenRun(t *testing.T) {
	run := jobs.NewContext(t.Context(), jobs.Run{Token: 5})
	for _, c := range []struct {
		ctx       context.Context
		own, want string
	}{
		{t.Context(), "", ""},
		{run, "", "5"},
		{fence.NewContext(t.Context(), 6), "", "6"},
		{fence.NewContext(run, 6), "", "6"},
		{jobs.NewContext(fence.NewContext(t.Context(), 6), jobs.Run{Token: 5}), "", "6"},
		{run, "7", "7"},
	} {
		base := &answering{status: 204}
		r := request(c.ctx, t)
		if c.own != "" {
			r.Header.Set(TokenHeader, c.own)
		}
		_, err := (&Transport{Base: base}).RoundTrip(r) //nolint:bodyclose // it is a test's
		require.NoError(t, err)
		require.Equal(t, c.want, base.sent.Header.Get(TokenHeader))
		require.Equal(t, c.own, r.Header.Get(TokenHeader), "the caller's request was changed")
	}
	bare := request(run, t)
	bare.Header = nil
	base := &answering{status: 204}
	_, err := (&Transport{Base: base}).RoundTrip(bare) //nolint:bodyclose // it is a test's
	require.NoError(t, err)
	require.Equal(t, "5", base.sent.Header.Get(TokenHeader))
}

func TestOnlyStaleTokenIsAnError(t *testing.T) {
	ctx := fence.NewContext(t.Context(), 5)
	base := &answering{status: 412, newest: "6"}
	_, err := (&http.Client{Transport: &Transport{Base: base}}).Do(request(ctx, t)) //nolint:bodyclose // there is none
	stale, ok := errors.AsType[*fence.StaleError](err)
	require.True(t, ok, err)
	require.Equal(t, &fence.StaleError{Resource: "PUT https://example.org/a", Token: 5, Newest: 6}, stale)
	require.True(t, base.body.closed)

	for _, other := range []*answering{{status: 412}, {status: 412, newest: "x"}, {status: 200, newest: "6"}, {status: 428}} {
		response, err := (&Transport{Base: other}).RoundTrip(request(ctx, t))
		require.NoError(t, err)
		require.Equal(t, other.status, response.StatusCode)
		require.False(t, other.body.closed)
		require.NoError(t, response.Body.Close())
	}
	mine := errors.New("mine")
	_, err = (&Transport{Base: &answering{err: mine}}).RoundTrip(request(ctx, t)) //nolint:bodyclose // there is none
	require.Equal(t, mine, err)
}
