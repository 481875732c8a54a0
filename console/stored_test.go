package console_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/schedules"
)

// send submits a form of the console, and returns the answer with its page.
func (s *site) send(target string, fields ...string) (answer, string) {
	s.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r := s.do(request(http.MethodPost, target, form.Encode(), bearer(operateSecret), asForm, header("Accept", "text/html")))
	return r, html.UnescapeString(text(s, r))
}

// page returns a page as a browser shows it.
func (s *site) page(target string, secret string) string {
	s.Helper()
	r := s.get(target, bearer(secret), header("Accept", "text/html"))
	page := html.UnescapeString(text(s, r))
	require.Equal(s, http.StatusOK, r.StatusCode, "%s %s", target, page)
	return page
}

// row returns a schedule of the job tenants.
func (s *site) row(key string) schedules.Schedule {
	s.Helper()
	all, err := schedules.New(s.store.Store, "tenants")
	require.NoError(s, err)
	row, err := all.Get(s.Context(), key)
	require.NoError(s, err)
	return row
}

func TestStoredSchedulesAreListedByPrefixAPageAtATime(t *testing.T) {
	s := newSite(t, withTokens())
	var keys []string
	for i := range 120 {
		keys = append(keys, fmt.Sprintf("eu-%03d", i))
	}
	s.store.tenants(t, append(keys, "us-1", "odd.json")...)
	seen := map[string]bool{}
	pages := 0
	for next := "/jobs/tenants/schedules?prefix=eu-"; next != ""; pages++ {
		page := s.page(next, readSecret)
		found := regexp.MustCompile(`href="/jobs/tenants/schedules/([^"?]*)"`).FindAllStringSubmatch(page, -1)
		require.LessOrEqual(t, len(found), 100)
		for _, link := range found {
			seen[link[1]] = true
		}
		next = ""
		if more := regexp.MustCompile(`href="([^"]*)" rel="next"`).FindStringSubmatch(page); more != nil {
			next = more[1]
		}
	}
	require.Equal(t, 2, pages)
	require.Len(t, seen, 120)
	page := s.page("/jobs/tenants/schedules?prefix=us", readSecret)
	for _, want := range []string{"every hour", "Europe/Berlin", "payload of 1 bytes", "1 schedule here"} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, "New schedule", "of who may only look")
	require.Contains(t, s.page("/jobs/tenants/schedules", operateSecret), `href="/jobs/tenants/create"`)
	require.Contains(t, s.page("/jobs/tenants/schedules?prefix=none", readSecret), "No key begins like that.")
	require.Contains(t, s.page("/jobs/tenants/schedules/odd.json", readSecret), "</html>", "the key has no format")
	require.Contains(t, text(t, s.get("/jobs/tenants/schedules.txt?prefix=us", bearer(readSecret))), "us-1")
	require.NotContains(t, text(t, s.get("/jobs/tenants/schedules.json?prefix=us", bearer(readSecret))), `"payload":`)
	for target, status := range map[string]int{"report/schedules": 409, "none/schedules": 404, "tenants/schedules/none": 404, "none/schedules/us-1": 404, "tenants/schedules/a%20b": 400} {
		require.Equal(t, status, s.get("/jobs/"+target, bearer(readSecret)).StatusCode, target)
	}
}

func TestJobWithStoredSchedulesLeadsToThem(t *testing.T) {
	s := newSite(t, withTokens())
	s.store.tenants(t, "acme")
	require.Contains(t, s.page("/", readSecret), `<a href="/jobs/tenants/schedules">of each schedule</a>`)
	page := s.page("/jobs/tenants", operateSecret)
	require.Contains(t, page, `<a class="button" href="/jobs/tenants/schedules">`)
	require.NotContains(t, page, "/jobs/tenants/trigger")
	require.Contains(t, s.page("/timeline", readSecret), "by its schedules in the store")
	require.Contains(t, s.page("/jobs/tenants/why", readSecret), "</html>")
}

func TestPageOfAStoredScheduleIsThatOfAJob(t *testing.T) {
	s := newSite(t, withTokens())
	s.store.tenants(t, "acme")
	const at = "/jobs/tenants/schedules/acme"
	page := s.page(at, readSecret)
	for _, want := range []string{"tenants/acme", "every hour", "@hourly", "Europe/Berlin", "<dd>1 B</dd>", s.row("acme").Revision, "Next ticks"} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, at+"/edit")
	page = s.page(at, operateSecret)
	for _, act := range []string{"edit", "pause", "trigger", "delete"} {
		require.Contains(t, page, at+"/"+act)
	}
	require.NotContains(t, page, "/forget")

	require.Contains(t, s.page(at+"/pause", operateSecret), "The next tick is at")
	r, _ := s.send(at+"/pause", "reason", "not paid")
	require.Equal(t, at, r.Header.Get("Location"))
	require.Contains(t, s.page(at, readSecret), "not paid")
	require.Contains(t, s.page("/jobs/tenants/schedules", readSecret), "paused by ops")
	r, _ = s.send(at + "/resume")
	require.Equal(t, http.StatusSeeOther, r.StatusCode)
	require.Nil(t, s.row("acme").Paused)

	page = s.page(at+"/trigger", operateSecret)
	require.Contains(t, page, "the run has that of the schedule")
	r, _ = s.send(at+"/trigger", "request", "once")
	require.Equal(t, at, r.Header.Get("Location"))
	require.Equal(t, "7", s.store.payload(t, "tenants/acme"))
	page = s.page(at, operateSecret)
	require.Contains(t, page, at+"/cancel")
	require.NotContains(t, s.page("/", readSecret), "tenants/acme", "a schedule is no job")
	tick := regexp.MustCompile(at + `/ticks/\d+`).FindString(page)
	require.Contains(t, s.page(tick, readSecret), "Times are in Europe/Berlin")
	require.Contains(t, s.page(at+"/why", readSecret), "running")
	require.Contains(t, s.page(at+"/cancel", operateSecret), "Ticks that run now: 1")

	s.send("/jobs/tenants/pause", "reason", "moving")
	require.Regexp(t, "The whole job:.*moving", s.page(at, readSecret))
	require.Contains(t, text(t, s.get(at, bearer(readSecret), header("Accept", "text/plain"))), "updated")
}

func TestStoredScheduleIsDeletedAsItWasShown(t *testing.T) {
	s := newSite(t, withTokens())
	s.store.tenants(t, "acme")
	const at = "/jobs/tenants/schedules/acme"
	page := s.page(at+"/delete", operateSecret)
	require.Contains(t, page, "No further tick of the schedule runs.")
	old := regexp.MustCompile(`name="revision" value="([^"]+)"`).FindStringSubmatch(page)[1]
	require.Equal(t, http.StatusOK, s.change("PUT", "/api/v1"+at, `{"cron": "@daily"}`).StatusCode)
	r, _ := s.send(at+"/delete", "revision", old)
	require.Equal(t, http.StatusPreconditionFailed, r.StatusCode)
	r, _ = s.send(at + "/delete")
	require.Equal(t, http.StatusBadRequest, r.StatusCode, "without a revision")
	r, _ = s.send(at+"/delete", "revision", s.row("acme").Revision, "reason", "left us")
	require.Equal(t, "/jobs/tenants/schedules", r.Header.Get("Location"))
	require.Equal(t, http.StatusNotFound, s.get(at, bearer(readSecret)).StatusCode)
	require.Contains(t, s.page("/audit", readSecret), "left us")
}

func TestFormCreatesAStoredScheduleOrShowsAllFaults(t *testing.T) {
	s := newSite(t, withTokens())
	s.store.tenants(t, "taken")
	const create = "/jobs/tenants/create"
	require.Contains(t, s.page(create, operateSecret), `name="timezone" value="Europe/Berlin"`)
	r, page := s.send(create, "key", "a b", "cron", "61 * * * *", "at", "soon", "timezone", "Mars/Base", "start", "2030-02-30 00:00", "payload", "keep <me>", "reason", "why")
	require.Equal(t, http.StatusBadRequest, r.StatusCode)
	require.Contains(t, page, "5 fields are wrong")
	for _, typed := range []string{`value="a b"`, `value="61 * * * *"`, `value="soon"`, `value="Mars/Base"`, "keep <me></textarea>", "why</textarea>"} {
		require.Contains(t, page, typed)
	}
	require.Len(t, regexp.MustCompile(`aria-invalid="true"`).FindAllString(page, -1), 5)

	r, _ = s.send(create, "key", "acme", "cron", "0  7 * * 1-5", "timezone", "Asia/Shanghai", "start", "2030-01-31 08:00", "payload", "a\r\nb", "reason", "signed")
	require.Equal(t, "/jobs/tenants/schedules/acme", r.Header.Get("Location"))
	row := s.row("acme")
	require.Equal(t, []string{"0 7 * * 1-5", "Asia/Shanghai", "a\nb", "ops"}, []string{row.Cron, row.Timezone, row.Payload, row.UpdatedBy})
	require.Equal(t, "2030-01-31T00:00:00Z", row.Start.UTC().Format(time.RFC3339))
	require.Contains(t, s.page("/audit", readSecret), "signed")
	r, page = s.send(create, "key", "taken", "cron", "@daily")
	require.Equal(t, http.StatusConflict, r.StatusCode)
	require.Contains(t, page, "is taken")
	require.Equal(t, "@hourly", s.row("taken").Cron)
	r, page = s.send(create, "key", "past", "at", "2020-01-01 00:00")
	require.Equal(t, http.StatusBadRequest, r.StatusCode)
	require.Contains(t, page, "must have a tick to come")

	for _, target := range []string{create, "/jobs/tenants/schedules/taken/edit", "/jobs/tenants/preview"} {
		require.Equal(t, http.StatusForbidden, s.get(target, bearer(readSecret)).StatusCode, target)
	}
	require.Equal(t, http.StatusForbidden, s.do(request("POST", create, "key=x&cron=@daily", bearer(operateSecret), asForm, header("Sec-Fetch-Site", "cross-site"))).StatusCode)
}

func TestTwoPeopleDoNotOverwriteOneAnother(t *testing.T) {
	s := newSite(t, withTokens())
	s.store.tenants(t, "acme")
	all, err := schedules.New(s.store.Store, "tenants")
	require.NoError(t, err)
	put := func(row schedules.Schedule) {
		_, err := all.Put(t.Context(), row, schedules.By("ann"))
		require.NoError(t, err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	twice := time.Date(2030, 10, 27, 2, 30, 0, 0, berlin).Add(time.Hour) // the clock has this hour twice
	const payload = "\n\r\n<&\rsecret"
	put(schedules.Schedule{Key: "acme", Cron: "@hourly", Payload: payload, Start: twice, End: twice.Add(time.Hour + 250*time.Millisecond)})
	const edit = "/jobs/tenants/schedules/acme/edit"
	r := s.get(edit, bearer(operateSecret), header("Accept", "text/html"), header("Accept-Encoding", "gzip"))
	require.Empty(t, r.Header.Get("Content-Encoding"))
	page := html.UnescapeString(text(t, r))
	require.Contains(t, page, "spellcheck=\"false\" autocomplete=\"off\" aria-describedby=\"payload-hint\">\n\n", "the first end of a line is dropped by browsers")
	var fields []string
	for _, name := range []string{"cron", "timezone", "start", "end", "revision"} {
		value := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(page)
		require.NotNil(t, value, name)
		fields = append(fields, name, value[1])
	}
	fields = append(fields, "payload", "\r\n\r\n<&\r\nsecret")
	before := s.row("acme")
	r, page = s.send(edit, fields...)
	require.Equal(t, http.StatusSeeOther, r.StatusCode, page)
	require.Equal(t, before, s.row("acme"), "what is not edited is not changed")

	put(schedules.Schedule{Key: "acme", Cron: "@daily", Payload: payload})
	fields[1], fields[5], fields[7] = "@weekly", "", ""
	r, page = s.send(edit, fields...)
	require.Equal(t, http.StatusConflict, r.StatusCode)
	require.Contains(t, page, "Somebody else has changed this schedule meanwhile")
	require.Regexp(t, `<code>cron</code></dt><dd>@daily</dd>(?s:.*)<code>updated_by</code></dt><dd>ann</dd>`, page)
	require.Contains(t, page, `value="@weekly"`)
	require.Equal(t, "@daily", s.row("acme").Cron)
	fields[9] = regexp.MustCompile(`name="revision" value="([^"]*)"`).FindStringSubmatch(page)[1]
	r, page = s.send(edit, fields...)
	require.Equal(t, http.StatusSeeOther, r.StatusCode, page)
	require.Equal(t, []string{"@weekly", payload}, []string{s.row("acme").Cron, s.row("acme").Payload})

	fields[9] = s.row("acme").Revision
	_, err = all.Delete(t.Context(), "acme")
	require.NoError(t, err)
	r, page = s.send(edit, fields...)
	require.Equal(t, http.StatusConflict, r.StatusCode)
	require.Contains(t, page, "Somebody else has deleted this schedule meanwhile")
	require.NotContains(t, page, `name="revision"`)
	r, _ = s.send(edit, append(fields[:8:8], fields[10:]...)...)
	require.Equal(t, http.StatusSeeOther, r.StatusCode)
}

func TestPreviewShowsTheNextTicksAsSomebodyTypes(t *testing.T) {
	s := newSite(t, withTokens())
	s.store.tenants(t)
	preview := func(fields ...string) string {
		v := url.Values{}
		for i := 0; i < len(fields); i += 2 {
			v.Set(fields[i], fields[i+1])
		}
		return s.page("/jobs/tenants/preview?"+v.Encode(), operateSecret)
	}
	page := preview("key", "acme", "cron", "0 7 * * *", "timezone", "Asia/Tokyo", "start", "2030-01-31 07:00", "zone", "UTC")
	require.NotContains(t, page, "<html")
	require.Len(t, regexp.MustCompile("<time").FindAllString(page, -1), 5)
	require.Contains(t, page, "2030-01-30T22:00:00.000Z", "07:00 in Tokyo")
	page = preview("key", "acme", "cron", "61 * * * *", "end", "x")
	require.Equal(t, 2, strings.Count(page, "<li>"))
	require.Contains(t, preview("key", "acme", "at", "2020-01-01 00:00"), "No tick is to come.")
	require.Equal(t, http.StatusBadRequest, s.get("/jobs/tenants/preview?payload=x", bearer(operateSecret)).StatusCode, "a secret is in no URL")
}

func TestStoredSchedulesAreInChinese(t *testing.T) {
	s := newSite(t, withTokens())
	s.store.tenants(t, "acme")
	all, err := schedules.New(s.store.Store, "tenants")
	require.NoError(t, err)
	require.NoError(t, all.Pause(t.Context(), "acme", fleet.Act{By: "ops", Reason: "演练"}))
	_, err = all.Trigger(context.Background(), "acme", fleet.TriggerOptions{By: "ops"})
	require.NoError(t, err)
	const at = "/jobs/tenants/schedules/acme"
	for _, target := range []string{
		"/", "/jobs/tenants", "/jobs/tenants/schedules", "/jobs/tenants/schedules?prefix=x", at, at + "/why", at + "/edit", at + "/delete", at + "/trigger", at + "/resume", at + "/cancel",
		"/jobs/tenants/create", "/jobs/report/schedules", "/jobs/tenants/schedules/none", "/jobs/tenants/preview?key=a&cron=@daily", "/jobs/tenants/preview?start=x&end=x",
		"/jobs/tenants/preview?key=a&cron=@daily&at=2030-01-01+00:00&timezone=Mars",
	} {
		page := text(t, s.get(target, bearer(operateSecret), header("Accept-Language", "zh-CN"), header("Accept", "text/html")))
		require.Empty(t, englishIn(page), target)
	}
}

func TestNoPageReadsAllSchedulesOfAJob(t *testing.T) {
	s := newSite(t, withTokens())
	keys := make([]string, 300)
	for i := range keys {
		keys[i] = fmt.Sprintf("t%03d", i)
	}
	s.store.tenants(t, keys...)
	for target, most := range map[string]int64{
		"/": 0, "/timeline": 0, "/load": 0, "/fleet": 0, "/jobs/tenants": 0, "/jobs/tenants/why": 0, "/jobs/tenants/schedules": 100, "/jobs/tenants/schedules/t000": 0,
		"/jobs/tenants/schedules/t000/why": 0, "/jobs/tenants/schedules/t000/edit": 0, "/jobs/tenants/create": 0, "/jobs/tenants/preview?key=a&cron=@daily": 0,
	} {
		s.store.listed.Store(0)
		s.page(target, operateSecret)
		require.Equal(t, most, s.store.listed.Load(), target)
	}
}

func TestSchedulesAreNotShownWhileTheStoreIsAway(t *testing.T) {
	s := newSite(t, withTokens())
	s.store.tenants(t, "acme")
	s.page("/jobs/tenants/schedules", readSecret)
	away := errors.New("connection refused")
	s.store.away.Store(&away)
	for _, target := range []string{"/jobs/tenants/schedules?prefix=a", "/jobs/tenants/schedules/acme?ticks=3", "/jobs/tenants/schedules/acme/edit", "/jobs/tenants/create"} {
		s.send("/jobs/report/pause") // so that the fleet is read again
		require.Equal(t, http.StatusServiceUnavailable, s.get(target, bearer(operateSecret), header("Accept", "text/html")).StatusCode, target)
	}
}
