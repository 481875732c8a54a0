package console_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/schedules"
)

// tenants makes the record of a job with stored schedules, and schedules of these keys.
func (s *faultyStore) tenants(t require.TestingT, keys ...string) {
	ctx := context.Background()
	now, _, err := s.Store.Time(ctx)
	require.NoError(t, err)
	_, err = s.Sync(ctx, []protocol.Sync{{Name: "tenants", Watermark: now.UnixMilli(), Schedule: "Europe/Berlin @stored", Revision: "r", Defines: true}})
	require.NoError(t, err)
	all, err := schedules.New(s.Store, "tenants")
	require.NoError(t, err)
	for _, key := range keys {
		_, err := all.Put(ctx, schedules.Schedule{Key: key, Cron: "@hourly", Payload: "7"})
		require.NoError(t, err)
	}
}

func (s *site) change(method, target, body string, changes ...func(*http.Request)) answer {
	return s.do(request(method, target, body, append([]func(*http.Request){bearer(operateSecret), asJSON}, changes...)...))
}

func TestSchedulesArePutByTheirRevision(t *testing.T) {
	s := newSite(t, withTokens())
	s.store.tenants(t)
	const acme = "/api/v1/jobs/tenants/schedules/acme"
	r := s.change("PUT", acme, `{"cron": "0 7 * * *", "payload": "{\"a\": 1}\n", "reason": "new"}`, header("If-None-Match", "*"))
	require.Equal(t, http.StatusCreated, r.StatusCode)
	tag := r.Header.Get("ETag")
	require.Regexp(t, `^"[0-9a-f]{12}"$`, tag)
	require.Equal(t, "created", s.decode(r)["status"])

	r = s.get(acme+"?ticks=2", bearer(readSecret))
	require.Equal(t, tag, r.Header.Get("ETag"))
	shown := text(t, r)
	row := s.decode(s.get(acme, bearer(readSecret)))
	require.Equal(t, []any{"acme", "0 7 * * *", "Europe/Berlin", "{\"a\": 1}\n", "ops"}, []any{row["key"], row["cron"], row["timezone"], row["payload"], row["updated_by"]})
	require.Len(t, row["coming"], 5)
	r = s.change("PUT", acme, shown, header("If-Match", tag))
	require.Equal(t, http.StatusOK, r.StatusCode, "what GET shows can be put")
	require.Equal(t, "unchanged", s.decode(r)["status"])

	require.Equal(t, http.StatusPreconditionFailed, s.change("PUT", acme, `{"cron": "@daily"}`, header("If-None-Match", "*")).StatusCode)
	r = s.change("PUT", acme, `{"cron": "@daily"}`, header("If-Match", tag))
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Equal(t, http.StatusPreconditionFailed, s.change("PUT", acme, `{"cron": "@hourly"}`, header("If-Match", tag)).StatusCode)
	require.Equal(t, http.StatusPreconditionFailed, s.change("DELETE", acme, "", header("If-Match", tag)).StatusCode)
	r = s.change("DELETE", acme+"?reason=gone", "", header("If-Match", r.Header.Get("ETag")))
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Equal(t, http.StatusNotFound, s.change("DELETE", acme, "").StatusCode)
	require.Equal(t, http.StatusNotFound, s.get(acme, bearer(readSecret)).StatusCode)

	acts := s.decode(s.get("/api/v1/audit?job=tenants/acme", bearer(readSecret)))["entries"].([]any)
	require.Len(t, acts, 3)
	require.Equal(t, "deleted", acts[0].(map[string]any)["action"])
	require.Equal(t, "new", acts[2].(map[string]any)["reason"])
}

func TestWrongSchedulesAreProblems(t *testing.T) {
	s := newSite(t, withTokens())
	s.store.tenants(t, "acme")
	const acme = "/api/v1/jobs/tenants/schedules/acme"
	r := s.change("PUT", acme, `{"cron": "61 * * * *", "timezone": "Mars/Base", "end": "2020-01-01T00:00:00Z", "start": "2021-01-01T00:00:00Z"}`)
	require.Equal(t, http.StatusBadRequest, r.StatusCode)
	require.Len(t, s.decode(r)["errors"], 3, "all faults at once")
	for _, body := range []string{"", "[]", "null x", `{"cron": 1}`, `{"corn": "@daily"}`, `{"cron": "@daily"} {}`, `{"key": "other", "cron": "@daily"}`, `{"at": "soon"}`, `{"cron": "@daily", "reason": "a\u0000"}`, `{}`} {
		r := s.change("PUT", acme, body)
		require.Equal(t, http.StatusBadRequest, r.StatusCode, body)
	}
	for target, status := range map[string]int{
		"/api/v1/jobs/tenants/schedules/a%20b": 400, "/api/v1/jobs/a%20b/schedules/acme": 400, "/api/v1/jobs/report/schedules/acme": 409, "/api/v1/jobs/unknown/schedules/acme": 404,
	} {
		require.Equal(t, status, s.change("PUT", target, `{"cron": "@daily"}`).StatusCode, target)
	}
	for name, value := range map[string]string{"If-Match": "abc", "If-None-Match": `"x"`} {
		require.Equal(t, http.StatusBadRequest, s.change("PUT", acme, `{"cron": "@daily"}`, header(name, value)).StatusCode, name)
	}
	require.Equal(t, http.StatusNotFound, s.get("/api/v1/jobs/unknown/schedules", bearer(readSecret)).StatusCode)
	require.Equal(t, http.StatusForbidden, s.change("PUT", acme, `{"cron": "@daily"}`, bearer(readSecret)).StatusCode)
	require.Equal(t, http.StatusForbidden, s.change("DELETE", acme, "", bearer(readSecret)).StatusCode)
	require.Equal(t, http.StatusForbidden, s.change("DELETE", acme, "", header("Sec-Fetch-Site", "cross-site")).StatusCode)
	r = s.change("PATCH", acme, "")
	require.Equal(t, http.StatusMethodNotAllowed, r.StatusCode)
	require.Equal(t, "GET, PUT, DELETE", r.Header.Get("Allow"))
}

func TestActionsOnAScheduleAreThoseOnAJob(t *testing.T) {
	s := newSite(t, withTokens())
	s.store.tenants(t, "eu-a", "eu-b", "us-a")
	const all = "/api/v1/jobs/tenants/schedules"
	page := s.decode(s.get(all+"?prefix=eu-", bearer(readSecret)))
	require.Len(t, page["schedules"], 2)
	require.Equal(t, "tenants", page["job"])

	r := s.post(all+"/eu-a/pause", `{"reason": "not paid"}`)
	require.Equal(t, http.StatusOK, r.StatusCode)
	require.Equal(t, "tenants/eu-a", s.decode(r)["job"])
	require.Equal(t, "not paid", s.decode(s.get(all+"/eu-a", bearer(readSecret)))["paused"].(map[string]any)["why"])
	require.Equal(t, true, s.decode(s.post(all+"/eu-a/resume", ""))["changed"])
	r = s.post(all+"/eu-a/trigger", "")
	require.Regexp(t, "^default/tenants/eu-a/", s.decode(r)["id"])
	require.Equal(t, "7", s.store.payload(t, "tenants/eu-a"), "the schedule's payload")
	require.Equal(t, http.StatusOK, s.post(all+"/eu-a/cancel", "").StatusCode)
	require.Equal(t, http.StatusNotFound, s.post(all+"/none/trigger", "").StatusCode)

	history := s.decode(s.get(all+"/eu-a/history", bearer(readSecret)))
	require.Equal(t, "ops", history["entries"].([]any)[0].(map[string]any)["cancelled_by"])
	require.Equal(t, http.StatusOK, s.get(all+"/eu-a/explanation", bearer(readSecret)).StatusCode)
	jobs := s.decode(s.get("/api/v1/status", bearer(readSecret)))["jobs"].([]any)
	for _, j := range jobs {
		require.NotContains(t, j.(map[string]any)["job"], "/", "a schedule is no job")
	}
}
