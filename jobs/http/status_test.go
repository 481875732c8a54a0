package http_test

import (
	"context"
	"errors"
	"fmt"
	nethttp "net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

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
		{code: 302},
		{code: 400, permanent: true},
		{code: 401, permanent: true},
		{code: 404, permanent: true},
		{code: 408},
		{code: 409, permanent: true},
		{code: 425},
		{code: 429},
		{code: 499, permanent: true},
		{code: 500},
		{code: 503},
		{code: 404, success: []http.StatusRange{{200, 200}, {404, 404}}, ok: true},
		{code: 201, success: []http.StatusRange{{200, 200}, {404, 404}}},
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

func TestFailedStatusShowsTheStartOfTheTextOnOneLine(t *testing.T) {
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

func TestStatusWithoutANameIsShownAsANumber(t *testing.T) {
	require.EqualError(t, &http.StatusError{Code: 599}, "status 599")
}

func TestRetryAfterIsReadInSecondsOnly(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"":                              0,
		"7":                             7 * time.Second,
		"-7":                            0,
		"99999999999":                   24 * time.Hour,
		"99999999999999999999999999":    0,
		"soon":                          0,
		"Wed, 21 Oct 2065 07:28:00 GMT": 0,
	} {
		url := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(nethttp.StatusTooManyRequests)
		})
		require.Equal(t, want, requireStatus(t, do(t, t.Context(), http.Call{URL: url})).Wait, header)
	}
}

func TestRetryAfterLengthensTheWaitForTheNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failure := fmt.Errorf("GET: %w", &http.StatusError{Code: 429, Wait: 20 * time.Second})
		var waits []time.Duration
		policy := jobs.Retry{MaxAttempts: 2, Backoff: time.Second, MaxBackoff: time.Minute}
		hooks := jobs.Hooks{OnRetry: func(_ jobs.Run, _ error, wait time.Duration) { waits = append(waits, wait) }}
		err := jobs.Retrying(policy, hooks)(func(context.Context, jobs.Run) error { return failure })(t.Context(), jobs.Run{Attempt: 1})
		require.Equal(t, failure, err)
		require.Equal(t, []time.Duration{20 * time.Second}, waits)
	})
}
