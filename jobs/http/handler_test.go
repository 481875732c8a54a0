package http_test

import (
	"context"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/http"
)

var run = jobs.Run{
	Namespace: "billing", Job: "report", Replica: "a-1", Token: 1774747800250001, Attempt: 2,
	Tick: time.Date(2026, 3, 29, 1, 30, 0, 250_000_000, time.UTC),
}

// serve starts a server on loopback and returns its URL.
func serve(t *testing.T, handler nethttp.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func answer(code int, body string) nethttp.HandlerFunc {
	return func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func do(t *testing.T, ctx context.Context, call http.Call) error {
	t.Helper()
	handler, err := http.New(call, nil)
	require.NoError(t, err)
	return handler(ctx, run)
}

func TestRunThatHasEndedMakesNoRequest(t *testing.T) {
	requests := make(chan received, 1)
	lost := errors.New("lease lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(lost)
	err := do(t, ctx, http.Call{URL: serve(t, receive(requests))})
	require.ErrorIs(t, err, lost)
	require.ErrorContains(t, err, "not requested")
	require.Empty(t, requests)
}

func TestCallStopsWhenTheRunHasTo(t *testing.T) {
	lost := errors.New("lease lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := make(chan struct{})
	url := serve(t, func(_ nethttp.ResponseWriter, r *nethttp.Request) {
		cancel(lost)
		<-r.Context().Done() // the client has hung up
		close(gone)
	})
	require.ErrorIs(t, do(t, ctx, http.Call{URL: url}), lost)
	<-gone
}

func TestCauseIsReportedBehindTheTransport(t *testing.T) {
	lost := errors.New("lease lost")
	ctx, cancel := context.WithCancelCause(t.Context())
	client := &nethttp.Client{Transport: roundTripper(func(r *nethttp.Request) (*nethttp.Response, error) {
		cancel(lost)
		return nil, r.Context().Err()
	})}
	handler, err := http.New(http.Call{URL: "http://example.com"}, client)
	require.NoError(t, err)
	require.EqualError(t, handler(ctx, run), "GET http://example.com: lease lost")
}

func TestCallHasATimeoutOfItsOwn(t *testing.T) {
	for name, part := range map[string]func(w nethttp.ResponseWriter){
		"before the response": func(nethttp.ResponseWriter) {},
		"within its body": func(w nethttp.ResponseWriter) {
			_, _ = io.WriteString(w, "so far")
			_ = nethttp.NewResponseController(w).Flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
				part(w)
				<-r.Context().Done()
			})
			err := do(t, t.Context(), http.Call{URL: url, Timeout: 50 * time.Millisecond})
			require.ErrorIs(t, err, jobs.ErrTimeout)
			require.ErrorContains(t, err, "http.timeout: not done within 50ms")
			requirePermanent(t, false, err)
		})
	}
}

func TestResponseThatBreaksOffIsNoSuccess(t *testing.T) {
	url := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "done? ")
	})
	err := do(t, t.Context(), http.Call{URL: url})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.ErrorContains(t, err, "status 200")
}

func TestEndlessResponseIsReadToTheLimit(t *testing.T) {
	hungUp := make(chan struct{})
	url := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		defer close(hungUp)
		chunk := strings.Repeat("x", 1<<10)
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, chunk); err != nil {
				return
			}
		}
	})
	require.NoError(t, do(t, t.Context(), http.Call{URL: url}))
	<-hungUp
}

func TestRefusedConnectionIsRetriedAndNamesNoSecret(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())

	err = do(t, t.Context(), http.Call{
		Method: "POST", URL: "http://secret-user:secret-pass@" + address + "/secret-path?key=secret-query#secret-part",
		Headers: map[string]string{"Authorization": "Bearer secret-header"}, Body: "secret-body",
	})
	require.ErrorContains(t, err, "POST http://"+address+": ")
	require.ErrorContains(t, err, "refused")
	require.NotContains(t, err.Error(), "secret")
	requirePermanent(t, false, err)
}

// An attempt is one delivery: net/http would replay a request that has an Idempotency-Key on a
// kept-alive connection.
func TestBrokenConnectionIsNotRepeatedUnderneath(t *testing.T) {
	var requests atomic.Int32
	url := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if requests.Add(1) == 1 {
			return
		}
		conn, _, err := nethttp.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	handler, err := http.New(http.Call{URL: url, Method: "POST", Body: "x"}, nil)
	require.NoError(t, err)
	require.NoError(t, handler(t.Context(), run))
	require.Error(t, handler(t.Context(), run))
	require.EqualValues(t, 2, requests.Load())
}

func TestOwnClientIsLeftUnchanged(t *testing.T) {
	other := serve(t, answer(200, ""))
	url := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) { nethttp.Redirect(w, r, other, nethttp.StatusFound) })
	used := 0
	client := &nethttp.Client{Transport: roundTripper(func(r *nethttp.Request) (*nethttp.Response, error) {
		used++
		return nethttp.DefaultTransport.RoundTrip(r)
	})}
	handler, err := http.New(http.Call{URL: url}, client)
	require.NoError(t, err)
	require.Error(t, handler(t.Context(), run), "the rule for redirects holds where the client has none")
	require.Equal(t, 1, used)
	require.Nil(t, client.CheckRedirect)

	client.CheckRedirect = func(*nethttp.Request, []*nethttp.Request) error { return nil }
	handler, err = http.New(http.Call{URL: url}, client)
	require.NoError(t, err)
	require.NoError(t, handler(t.Context(), run), "a rule of its own comes first")
}

type roundTripper func(*nethttp.Request) (*nethttp.Response, error)

func (f roundTripper) RoundTrip(r *nethttp.Request) (*nethttp.Response, error) { return f(r) }
