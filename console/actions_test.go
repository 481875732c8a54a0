package console_test

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console"
	"github.com/solotick/solotick/internal/protocol"
)

func (s *site) post(target, body string, changes ...func(*http.Request)) answer {
	return s.do(request(http.MethodPost, target, body, append([]func(*http.Request){bearer(operateSecret), asJSON}, changes...)...))
}

func TestAuditLogHasActionsOfTheAPI(t *testing.T) {
	s := newSite(t, withTokens())
	r := s.post("/api/v1/jobs/report/pause", `{"reason": "the database moves"}`)
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Equal(t, "ops", s.decode(r)["pause"].(map[string]any)["by"])
	require.Equal(t, false, s.decode(s.post("/api/v1/jobs/report/pause", `{}`))["changed"])
	require.Equal(t, http.StatusOK, s.post("/api/v1/jobs/report/trigger", `{"key": "deploy-1", "window_ms": 60000, "reason": "again"}`).StatusCode)
	require.Equal(t, "repeated", s.decode(s.post("/api/v1/jobs/report/trigger", `{"key": "deploy-1"}`))["status"])
	require.Equal(t, http.StatusOK, s.post("/api/v1/jobs/report/cancel", "").StatusCode, "the tick that waits")
	require.Equal(t, http.StatusConflict, s.post("/api/v1/jobs/report/cancel", "").StatusCode, "nothing runs or waits any more")
	require.Equal(t, http.StatusOK, s.post("/api/v1/jobs/report/resume", `{"reason": "it has moved"}`).StatusCode)
	require.Equal(t, http.StatusNotFound, s.post("/api/v1/jobs/unknown/resume", "").StatusCode)

	log := s.decode(s.get("/api/v1/audit?job=report", bearer(readSecret)))
	var acts []string
	for _, e := range log["entries"].([]any) {
		entry := e.(map[string]any)
		require.Equal(t, "ops", entry["by"])
		acts = append(acts, entry["action"].(string)+": "+entry["reason"].(string))
	}
	require.Contains(t, acts, "paused: the database moves")
	require.Contains(t, acts, "resumed: it has moved")
	require.Contains(t, acts, "triggered: again")
	require.Len(t, s.decode(s.get("/api/v1/audit?action=paused&limit=1", bearer(readSecret)))["entries"], 1)
	require.Empty(t, s.decode(s.get("/api/v1/audit?by=nobody", bearer(readSecret)))["entries"])
	require.Equal(t, http.StatusBadRequest, s.get("/api/v1/audit?after=x", bearer(readSecret)).StatusCode)
}

func TestFormAsksBeforeItActs(t *testing.T) {
	s := newSite(t, withTokens())
	cookie := withCookie(login(t, s, operateSecret))
	page := text(t, s.get("/jobs/report/pause", cookie))
	require.Contains(t, page, `method="post"`)
	require.Contains(t, page, `action="/jobs/report/pause"`)
	r := s.do(request(http.MethodPost, "/jobs/report/pause", "reason=two%0D%0Alines", asForm, cookie))
	require.Equal(t, http.StatusSeeOther, r.StatusCode, text(t, r))
	require.Equal(t, "/jobs/report", r.Header.Get("Location"))
	d := s.decode(s.get("/api/v1/jobs/report/description", cookie))
	require.Equal(t, "two lines", d["paused"].(map[string]any)["why"])
	require.Equal(t, http.StatusNotFound, s.get("/jobs/unknown/pause", cookie).StatusCode)
	require.Equal(t, http.StatusForbidden, s.get("/jobs/report/pause", withCookie(login(t, s, readSecret))).StatusCode)
}

func TestATriggerGivesItsPayloadUnseen(t *testing.T) {
	s := newSite(t, withTokens())
	cookie := withCookie(login(t, s, operateSecret))
	page := text(t, s.get("/jobs/report/trigger", cookie))
	require.Contains(t, page, `name="payload"`)
	require.NotContains(t, text(t, s.get("/jobs/report/pause", cookie)), `name="payload"`)
	require.Equal(t, http.StatusBadRequest, s.get("/jobs/report/trigger?payload=x", cookie).StatusCode, "URLs are logged")

	r := s.do(request(http.MethodPost, "/jobs/report/trigger", "payload=hunter2%0D%0Aline", asForm, cookie))
	require.Equal(t, http.StatusSeeOther, r.StatusCode, text(t, r))
	require.Equal(t, "hunter2\nline", s.store.payload(t, "report"))
	shown := text(t, s.get("/jobs/report", cookie)) + text(t, s.get("/api/v1/jobs/report/history", cookie)) + text(t, s.get("/api/v1/audit", cookie)) +
		text(t, s.get("/audit", cookie))
	require.NotContains(t, shown, "hunter2")
	require.Contains(t, shown, `"payload_bytes":12`)

	require.Equal(t, "opened", s.decode(s.post("/api/v1/jobs/report/trigger", `{"key": "k", "payload": "hunter2"}`))["status"])
	r = s.post("/api/v1/jobs/report/trigger", `{"key": "k", "payload": "hunter3"}`)
	require.Equal(t, http.StatusConflict, r.StatusCode)
	require.Contains(t, text(t, r), "an earlier trigger with this key had another payload")
	r = s.post("/api/v1/jobs/report/trigger", `{"payload": "`+strings.Repeat("hunter2", 600)+`"}`)
	require.Equal(t, http.StatusBadRequest, r.StatusCode)
	require.NotContains(t, text(t, r), "hunter2")
}

func TestBulkChangesOnlyWhatItShowed(t *testing.T) {
	s := newSite(t, withTokens())
	cookie := withCookie(login(t, s, operateSecret))
	running := s.store.claim(t, "report")
	page := text(t, s.get("/actions/pause?q=e&state=running,waiting", cookie))
	form := fieldsOf(page)
	form.Set("reason", "all of them")
	require.Len(t, form, 4, page)
	require.NoError(t, s.store.Settle(t.Context(), running, "succeeded"))
	require.Eventually(t, func() bool { // until the site has read again
		return s.get("/actions/pause?q=e&state=running,waiting", cookie).StatusCode == http.StatusNotFound
	}, 30*time.Second, 50*time.Millisecond)
	r := s.do(request(http.MethodPost, "/actions/pause", form.Encode(), asForm, cookie))
	require.Equal(t, http.StatusConflict, r.StatusCode, text(t, r))
	require.Nil(t, s.decode(s.get("/api/v1/jobs/report/description", cookie))["paused"])

	require.Equal(t, http.StatusNotFound, s.get("/actions/pause?q=e&state=running", cookie).StatusCode, "nothing is chosen")

	bulk := s.decode(s.post("/api/v1/actions/pause", `{"jobs": ["report", "sync", "report", "unknown"], "reason": "all"}`))
	require.InDelta(t, 1, bulk["failed"], 0)
	require.Len(t, bulk["results"], 3)
	require.Equal(t, "unknown", bulk["results"].([]any)[0].(map[string]any)["job"], "what failed is first")
	require.NotNil(t, s.decode(s.get("/api/v1/jobs/sync/description", cookie))["paused"])
}

func TestRepairAndForgetAskAndAreAudited(t *testing.T) {
	s := newSite(t, withTokens())
	cookie := withCookie(login(t, s, operateSecret))
	now, _, err := s.store.Store.Time(t.Context())
	require.NoError(t, err)
	_, err = s.store.Sync(t.Context(), []protocol.Sync{{Name: "stuck", Watermark: now.Add(8 * time.Hour).UnixMilli()}})
	require.NoError(t, err)
	s.store.settle(t, "old", "succeeded")
	require.Contains(t, text(t, s.get("/jobs/stuck", cookie)), `href="/jobs/stuck/repair"`)
	require.NotContains(t, text(t, s.get("/jobs/sync", cookie)), "/repair")
	require.Contains(t, text(t, s.get("/jobs/old", cookie)), `href="/jobs/old/forget"`)
	require.Contains(t, text(t, s.get("/?state=ahead", cookie)), "/actions/repair?state=ahead")

	require.Contains(t, text(t, s.get("/jobs/stuck/repair", cookie)), "in the future")
	r := s.do(request(http.MethodPost, "/jobs/stuck/repair", "reason=the+clock", asForm, cookie))
	require.Equal(t, http.StatusSeeOther, r.StatusCode, text(t, r))
	require.Equal(t, false, s.decode(s.post("/api/v1/jobs/stuck/repair", ""))["changed"], "nothing is left to do")

	running := s.store.claim(t, "sync")
	require.Equal(t, http.StatusConflict, s.get("/jobs/sync/forget", cookie).StatusCode)
	require.Contains(t, text(t, s.post("/api/v1/jobs/sync/forget", "")), "1 tick is open: cancel what runs or waits first")
	require.NoError(t, s.store.Settle(t.Context(), running, "succeeded"))
	require.InDelta(t, 1, s.decode(s.get("/api/v1/jobs/old/forgettable", cookie))["outcomes"], 0)
	r = s.do(request(http.MethodPost, "/jobs/old/forget", "reason=gone", asForm, cookie))
	require.Equal(t, http.StatusSeeOther, r.StatusCode, text(t, r))
	require.Equal(t, "/", r.Header.Get("Location"), "the job has no page any more")
	require.Equal(t, http.StatusNotFound, s.get("/jobs/old", cookie).StatusCode)
	require.Equal(t, http.StatusNotFound, s.post("/api/v1/jobs/old/forget", "").StatusCode)

	acts := s.decode(s.get("/api/v1/acts?limit=9", cookie))["acts"].([]any)
	require.Len(t, acts, 2)
	require.Equal(t, []any{"forgotten", "old", "gone"}, []any{acts[0].(map[string]any)["kind"], acts[0].(map[string]any)["job"], acts[0].(map[string]any)["reason"]})
	require.Equal(t, []any{"repaired", "stuck", "the clock"}, []any{acts[1].(map[string]any)["kind"], acts[1].(map[string]any)["job"], acts[1].(map[string]any)["reason"]})
	require.Contains(t, text(t, s.get("/audit?lang=zh", cookie)), "修复")
}

// fieldsOf returns the fields of a form that nobody sees.
func fieldsOf(page string) url.Values {
	form := url.Values{}
	_, page, _ = strings.Cut(page, "<main")
	for _, field := range regexp.MustCompile(`type="hidden" name="([^"]*)" value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		form.Add(field[1], field[2])
	}
	return form
}

func TestFormThatIsSentTwiceTriggersOnce(t *testing.T) {
	s := newSite(t, withTokens())
	cookie := withCookie(login(t, s, operateSecret))
	page := text(t, s.get("/jobs/report/trigger", cookie))
	require.NotContains(t, page, "sse-connect", "nothing changes the form")
	form := fieldsOf(page)
	send := func(target string, form url.Values) {
		r := s.do(request(http.MethodPost, target, form.Encode(), asForm, cookie))
		require.Less(t, r.StatusCode, 400, text(t, r))
	}
	runs := func(job string) (n int) {
		open, err := s.store.Store.Inspect(t.Context(), job)
		require.NoError(t, err)
		return len(open.Open) + len(open.Settled)
	}
	before := runs("report")
	send("/jobs/report/trigger", form)
	running := s.store.take(t, "report") // so that another trigger would open another tick
	send("/jobs/report/trigger", form)
	require.Equal(t, before+1, runs("report"))
	require.NoError(t, s.store.Settle(t.Context(), running, "succeeded"))
	send("/jobs/report/trigger", form)
	require.Equal(t, before+1, runs("report"))
	send("/jobs/report/trigger", fieldsOf(text(t, s.get("/jobs/report/trigger", cookie))))
	require.Equal(t, before+2, runs("report"), "the form was asked for again")

	before = runs("sync")
	all := fieldsOf(text(t, s.get("/actions/trigger?q=sync", cookie)))
	send("/actions/trigger", all)
	s.store.take(t, "sync")
	send("/actions/trigger", all)
	require.Equal(t, before+1, runs("sync"))
	require.Equal(t, http.StatusBadRequest, s.post("/api/v1/jobs/sync/trigger", `{"request": "a b"}`).StatusCode)
	require.NotContains(t, text(t, s.get("/audit.json", cookie)), "request-")
}

func TestLockIsReleasedWithItsTokenOnly(t *testing.T) {
	s := newSite(t, withTokens())
	a, err := s.store.ClaimLock(t.Context(), protocol.LockClaim{Name: "shop", Holder: "till-1", Request: "r", TTL: time.Minute, Permits: 1, Limit: 1})
	require.NoError(t, err)
	token := strconv.FormatInt(a.Token, 10)
	form := text(t, s.get("/locks/release?name=shop&token="+token, bearer(operateSecret)))
	require.Contains(t, form, "till-1")
	require.NotContains(t, form, "sse-connect", "an update would empty the reason")
	require.Equal(t, http.StatusNotFound, s.get("/locks/release?name=shop&token=1", bearer(operateSecret)).StatusCode)
	require.Equal(t, http.StatusConflict, s.post("/api/v1/locks/release", `{"name": "shop", "token": 1}`).StatusCode)
	require.Equal(t, http.StatusOK, s.post("/api/v1/locks/release", `{"name": "shop", "token": `+token+`, "reason": "it hangs"}`).StatusCode)
	require.Equal(t, http.StatusConflict, s.post("/api/v1/locks/release", `{"name": "shop", "token": `+token+`}`).StatusCode)
	require.Contains(t, text(t, s.get("/api/v1/audit", bearer(readSecret))), "it hangs")
}

func TestHistoryComesInPagesWithoutGaps(t *testing.T) {
	s := newSite(t)
	for range 9 {
		s.store.settle(t, "report", "failed")
	}
	open := s.store.claim(t, "report")
	all := s.decode(s.get("/api/v1/jobs/report/history"))["entries"].([]any)
	require.Len(t, all, 11)
	require.Equal(t, "running", all[0].(map[string]any)["state"])
	var paged []any
	for cursor, pages := "", 0; ; pages++ {
		require.Less(t, pages, 10)
		p := s.decode(s.get("/api/v1/jobs/report/history?limit=3&after=" + cursor))
		paged = append(paged, p["entries"].([]any)...)
		if cursor = p["next"].(string); cursor == "" {
			break
		}
		if pages == 1 { // jobs that come meanwhile move nothing
			require.NoError(t, s.store.Settle(t.Context(), open, "succeeded"))
		}
	}
	require.Equal(t, ids(all), ids(paged))
}

func ids(entries []any) (list []string) {
	for _, e := range entries {
		list = append(list, e.(map[string]any)["id"].(string))
	}
	return list
}

func TestLinksWorkUnderAnyPrefix(t *testing.T) {
	s := newSite(t)
	own := newSite(t, console.WithPrefix("/cron"))
	for name, handler := range map[string]http.Handler{"StripPrefix": http.StripPrefix("/cron", s.console), "option": own.console} {
		ask := func(path string) answer {
			w := newRecorder()
			r := request(http.MethodGet, path, "")
			r.RequestURI = path
			handler.ServeHTTP(w, r)
			return answer{w.Result()}
		}
		page := ask("/cron/")
		require.Equal(t, http.StatusOK, page.StatusCode, name)
		body := text(t, page)
		for _, link := range regexp.MustCompile(`(?:href|src|action|sse-connect)="(/[^"]*)"`).FindAllStringSubmatch(body, -1) {
			require.True(t, strings.HasPrefix(link[1], "/cron/"), "%s: %s", name, link[1])
		}
		require.Contains(t, body, `href="/cron/jobs/report"`, name)
		require.Equal(t, "/cron/", ask("/cron").Header.Get("Location"), name)
		require.Equal(t, http.StatusOK, ask("/cron/api/v1/jobs").StatusCode, name)
		require.Equal(t, http.StatusNotFound, ask("/cron//evil.example/").StatusCode, name)
	}
	w := newRecorder()
	own.console.ServeHTTP(w, request(http.MethodGet, "/cronjobs", ""))
	require.Equal(t, http.StatusNotFound, w.Code)
}

func TestTickRunsAgainFromItsPage(t *testing.T) {
	s := newSite(t, withTokens())
	cookie := withCookie(login(t, s, operateSecret))
	failed := s.store.claim(t, "report")
	tick := fmt.Sprint(failed.Tick)
	require.Equal(t, http.StatusConflict, s.post("/api/v1/jobs/report/trigger", `{"again": `+tick+`}`).StatusCode, "it runs")
	require.NoError(t, s.store.Settle(t.Context(), failed, "failed"))
	lost := s.store.claim(t, "report")
	require.NoError(t, s.store.Settle(t.Context(), lost, "lost"))

	page := text(t, s.get("/jobs/report/why?tick="+tick, cookie))
	link := regexp.MustCompile(`href="(/jobs/report/trigger\?again=[^"]+)"`).FindStringSubmatch(page)
	require.NotNil(t, link, page)
	form := text(t, s.get(html.UnescapeString(link[1]), cookie))
	require.Contains(t, form, "as a tick of its own")
	again := regexp.MustCompile(`name="again" value="([^"]+)"`).FindStringSubmatch(form)
	require.NotNil(t, again, form)
	r := s.do(request(http.MethodPost, "/jobs/report/trigger", "again="+url.QueryEscape(html.UnescapeString(again[1])), asForm, cookie))
	require.Equal(t, http.StatusSeeOther, r.StatusCode, text(t, r))
	require.Contains(t, text(t, s.get("/api/v1/jobs/report/history", cookie)), `"again":"`+time.UnixMilli(failed.Tick).UTC().Format("2006-01-02T15:04:05.000Z07:00")+`"`)

	body := fmt.Sprintf(`{"again": %d}`, lost.Tick)
	require.Contains(t, text(t, s.post("/api/v1/jobs/report/trigger", body)), "it was lost")
	require.Equal(t, http.StatusOK, s.post("/api/v1/jobs/report/trigger", body[:len(body)-1]+`, "anyway": true}`).StatusCode)
	require.Contains(t, text(t, s.get(fmt.Sprintf("/jobs/report/why?tick=%d", lost.Tick), cookie)), "anyway=true")
}
