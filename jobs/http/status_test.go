package http_test

import (
	"context"
	"errors"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/chain"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/http"
)

func requirePermanent(t *testing.T, want bool, err error) {
	t.Helper()
	_, permanent := errors.AsType[*jobs.PermanentError](err)
	require.Equal(t, want, permanent, "%v", err)
}

func requireStatus(t *testing.T, err error) *http.StatusError {
	t.Helper()
	status, ok := errors.AsType[*http.StatusError](err)
	require.True(t, ok, "%v", err)
	return status
}

func TestStatusDecidesTheOutcome(t *testing.T) {
	for _, test := range []struct {
		code      int
		success   []http.StatusRange
		ok        bool
		permanent bool
	}{
		{code: 200, ok: true},
		{code: 204, ok: true},
		{code: 299, ok: true},
		{code: 226, success: []http.StatusRange{{200, 204}}, permanent: true},
		{code: 302, permanent: true},
		{code: 304, permanent: true},
		{code: 399, permanent: true},
		{code: 400, permanent: true},
		{code: 401, permanent: true},
		{code: 404, permanent: true},
		{code: 408},
		{code: 409, permanent: true},
		{code: 425},
		{code: 429},
		{code: 499, permanent: true},
		{code: 500},
		{code: 501, permanent: true},
		{code: 502},
		{code: 503},
		{code: 504},
		{code: 505, permanent: true},
		{code: 507},
		{code: 599},
		{code: 600, permanent: true},
		{code: 999, permanent: true},
		{code: 404, success: []http.StatusRange{{200, 200}, {404, 404}}, ok: true},
		{code: 201, success: []http.StatusRange{{200, 200}, {404, 404}}, permanent: true},
		{code: 302, success: []http.StatusRange{{300, 399}}, ok: true},
	} {
		t.Run(fmt.Sprint(test.code, test.success), func(t *testing.T) {
			err := do(t, t.Context(), http.Call{URL: serve(t, answer(test.code, "")), Success: test.success})
			if test.ok {
				require.NoError(t, err)
				return
			}
			require.Equal(t, test.code, requireStatus(t, err).Code)
			requirePermanent(t, test.permanent, err)
		})
	}
}

func TestFailedStatusShowsTextOnOneLine(t *testing.T) {
	for name, test := range map[string]struct{ body, want string }{
		"none":             {"", ""},
		"text":             {"out of paper\r\n\tand ink\x1b ", "out of paper and ink"},
		"JSON":             {`{"error": "x"}`, `{"error": "x"}`},
		"long":             {strings.Repeat("y", 200<<10), strings.Repeat("y", 1<<10)},
		"a cut character":  {strings.Repeat("y", 1<<10-1) + "ü", strings.Repeat("y", 1<<10-1)},
		"other characters": {"Drucker ohne Papier: größe", "Drucker ohne Papier: größe"},
		"an image":         {"\x89PNG\x0D\x0A\x1A\x0A and so on", ""},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, answer(503, test.body))
			err := do(t, t.Context(), http.Call{URL: url})
			require.Equal(t, test.want, requireStatus(t, err).Body)
			text := "GET " + url + ": status 503 Service Unavailable"
			if test.want != "" {
				text += ": " + test.want
			}
			require.EqualError(t, err, text)
		})
	}
}

func TestUnnamedStatusIsShownAsANumber(t *testing.T) {
	require.EqualError(t, &http.StatusError{Code: 599}, "status 599")
}

func TestRetryAfterIsReadAsSecondsOrDate(t *testing.T) {
	const date = "Wed, 21 Oct 2015 07:28:00 GMT" // of the response: years from the clock here
	for name, test := range map[string]struct {
		header, date string
		want         time.Duration
	}{
		"none":                  {"", date, 0},
		"seconds":               {"7", date, 7 * time.Second},
		"no seconds":            {"0", date, 0},
		"negative seconds":      {"-7", date, 0},
		"very many seconds":     {"99999999999", date, 24 * time.Hour},
		"too many seconds":      {"99999999999999999999999999", date, 0},
		"words":                 {"soon", date, 0},
		"a date":                {"Wed, 21 Oct 2015 07:28:30 GMT", date, 30 * time.Second},
		"the same date":         {date, date, 0},
		"a date in the past":    {"Wed, 21 Oct 2015 07:27:59 GMT", date, 0},
		"a date in a far year":  {"Wed, 21 Oct 2065 07:28:00 GMT", date, 24 * time.Hour},
		"an older form of date": {"Wednesday, 21-Oct-15 07:28:10 GMT", date, 10 * time.Second},
		"no date to compare":    {"Wed, 21 Oct 2065 07:28:00 GMT", "", 0},
		"seconds without date":  {"7", "", 7 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			url := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
				w.Header()["Date"] = nil // the server sends none of its own
				if test.date != "" {
					w.Header().Set("Date", test.date)
				}
				w.Header().Set("Retry-After", test.header)
				w.WriteHeader(nethttp.StatusTooManyRequests)
			})
			require.Equal(t, test.want, requireStatus(t, do(t, t.Context(), http.Call{URL: url})).Wait)
		})
	}
}

func TestOnlyWhatMayGoBetterIsTriedAgain(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	for name, test := range map[string]struct {
		handler  nethttp.HandlerFunc
		call     http.Call
		attempts int
	}{
		"a request that is refused":    {answer(422, ""), http.Call{}, 1},
		"a method that is unknown":     {answer(501, ""), http.Call{}, 1},
		"a redirect":                   {answer(302, ""), http.Call{Method: "POST"}, 1},
		"a success that was not meant": {answer(202, ""), http.Call{Success: []http.StatusRange{{200, 200}}}, 1},
		"a service that is away":       {answer(503, ""), http.Call{}, 3},
		"a service that is busy":       {answer(429, ""), http.Call{}, 3},
		"a connection that breaks":     {func(nethttp.ResponseWriter, *nethttp.Request) { panic(nethttp.ErrAbortHandler) }, http.Call{}, 3},
		"a connection that is refused": {nil, http.Call{URL: closed.URL}, 3},
		"a body that breaks off": {func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Content-Length", "10")
			w.WriteHeader(nethttp.StatusOK)
		}, http.Call{}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			if test.call.URL == "" {
				test.call.URL = serve(t, test.handler)
			}
			handler, err := http.New(test.call, nil)
			require.NoError(t, err)
			attempts := 0
			job, err := jobs.New("j", "@hourly", func(ctx context.Context, run jobs.Run) error {
				attempts++
				return handler(ctx, run)
			}, jobs.WithRetry(jobs.Retry{MaxAttempts: 3}))
			require.NoError(t, err)
			err = chain.New(job, chain.Hooks{})(t.Context(), jobs.Run{Attempt: 1})
			require.Error(t, err)
			require.Equal(t, test.attempts, attempts)
		})
	}
}

func TestRetryAfterLengthensTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := fmt.Errorf("GET: %w", &http.StatusError{Code: 429, Wait: 20 * time.Second})
		var waits []time.Duration
		policy := jobs.Retry{MaxAttempts: 2, Backoff: time.Second, MaxBackoff: time.Minute}
		hooks := chain.Hooks{OnRetry: func(_ jobs.Run, _ error, wait time.Duration) { waits = append(waits, wait) }}
		job, err := jobs.New("j", "@hourly", func(context.Context, jobs.Run) error { return failure }, jobs.WithRetry(policy))
		require.NoError(t, err)
		err = chain.New(job, hooks)(t.Context(), jobs.Run{Attempt: 1})
		require.ErrorIs(t, err, failure)
		require.Equal(t, []time.Duration{20 * time.Second}, waits)
	})
}
