package http_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/http"
)

func TestEveryRuleOfACall(t *testing.T) {
	const url = "https://example.com/path"
	headers := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for name, test := range map[string]struct {
		call  http.Call
		field string // "" when the call is fine
		value string
		rule  string // part of it
	}{
		"URL alone":           {http.Call{URL: url}, "", "", ""},
		"method in any case":  {http.Call{URL: url, Method: "pUt"}, "", "", ""},
		"unknown method":      {http.Call{URL: url, Method: "fetch"}, "http.method", "FETCH", "one of GET, HEAD, POST"},
		"CONNECT":             {http.Call{URL: url, Method: "CONNECT"}, "http.method", "CONNECT", "one of"},
		"no URL":              {http.Call{}, "http.url", "", "absolute URL"},
		"relative URL":        {http.Call{URL: "/path"}, "http.url", "/path", "absolute URL"},
		"other scheme":        {http.Call{URL: "ftp://example.com"}, "http.url", "ftp://example.com", "absolute URL"},
		"no scheme":           {http.Call{URL: "example.com:80"}, "http.url", "example.com:80", "absolute URL"},
		"secrets in bad URLs": {http.Call{URL: "ftp://u:pa/s?s@host/p?k=v#f"}, "http.url", "ftp://(hidden)@host/p?(hidden)", "absolute URL"},
		"unreadable URL":      {http.Call{URL: "http://u:pa/ss@host"}, "http.url", "http://(hidden)@host", "absolute URL"},
		"only a secret":       {http.Call{URL: "pass@word"}, "http.url", "(hidden)", "absolute URL"},
		"headers": {http.Call{URL: url, Headers: headers("x-a", "tab\tis fine", "Host", "other.example:8080",
			"Authorization", "Bearer x")}, "", "", ""},
		"header name":          {http.Call{URL: url, Headers: headers("a b", "")}, "http.headers.a b", "a b", "name"},
		"header without name":  {http.Call{URL: url, Headers: headers("", "x")}, "http.headers.", "", "name"},
		"header value":         {http.Call{URL: url, Headers: headers("A", "secret\r\nB: c")}, "http.headers.A", "(hidden)", "one line"},
		"header host":          {http.Call{URL: url, Headers: headers("host", "a/b")}, "http.headers.host", "(hidden)", "host"},
		"header host empty":    {http.Call{URL: url, Headers: headers("Host", "")}, "http.headers.Host", "(hidden)", "host"},
		"header twice":         {http.Call{URL: url, Headers: headers("X-A", "1", "x-a", "2")}, "http.headers.x-a", "x-a", "once"},
		"header of the run":    {http.Call{URL: url, Headers: headers("solotick-job", "x")}, "http.headers.solotick-job", "solotick-job", "set for each run"},
		"idempotency key":      {http.Call{URL: url, Headers: headers("Idempotency-Key", "x")}, "http.headers.Idempotency-Key", "Idempotency-Key", "set for each run"},
		"header of the body":   {http.Call{URL: url, Headers: headers("Content-Length", "1")}, "http.headers.Content-Length", "Content-Length", "follows from the body"},
		"one status":           {http.Call{URL: url, Success: []http.StatusRange{{204, 204}, {302, 304}}}, "", "", ""},
		"status range turned":  {http.Call{URL: url, Success: []http.StatusRange{{299, 200}}}, "http.success[0]", "299-200", "200 to 599"},
		"status range too low": {http.Call{URL: url, Success: []http.StatusRange{{200, 200}, {100, 200}}}, "http.success[1]", "100-200", "200 to 599"},
		"status too high":      {http.Call{URL: url, Success: []http.StatusRange{{600, 600}}}, "http.success[0]", "600", "200 to 599"},
		"timeout":              {http.Call{URL: url, Timeout: -time.Second}, "http.timeout", "-1s", "at least 0s"},
	} {
		t.Run(name, func(t *testing.T) {
			handler, err := http.New(test.call, nil)
			if test.field == "" {
				require.NoError(t, err)
				require.NotNil(t, handler)
				return
			}
			faults := faultsIn(t, err)
			require.Len(t, faults, 1, "%v", err)
			require.Equal(t, test.field, faults[0].Field)
			require.Equal(t, test.value, faults[0].Value)
			require.Contains(t, faults[0].Rule, test.rule)
		})
	}
}

func TestFaultsOfACallAreReportedTogether(t *testing.T) {
	_, err := http.New(http.Call{
		Method: "-", URL: "-", Headers: map[string]string{"a b": "", "A": "\n", "B": "fine"},
		Success: []http.StatusRange{{1, 2}, {200, 299}}, Timeout: -1,
	}, nil)
	var fields []string
	for _, fault := range faultsIn(t, err) {
		fields = append(fields, fault.Field)
	}
	require.Equal(t, []string{"http.method", "http.url", "http.headers.A", "http.headers.a b", "http.success[0]", "http.timeout"}, fields)
}

func faultsIn(t *testing.T, err error) []*jobs.Fault {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "%T joins nothing", err)
	var faults []*jobs.Fault
	for _, err := range joined.Unwrap() {
		fault, ok := err.(*jobs.Fault)
		require.True(t, ok, "%T is no fault", err)
		faults = append(faults, fault)
	}
	return faults
}
