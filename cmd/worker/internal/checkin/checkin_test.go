package checkin

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

// monitor is a receiver that records its requests.
type monitor struct {
	mu   sync.Mutex
	seen []string
	do   http.HandlerFunc // how it answers; nil: 200
	url  string
}

func newMonitor(t *testing.T, do http.HandlerFunc) *monitor {
	m := &monitor{do: do}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

func (m *monitor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.seen = append(m.seen, r.Method+" "+r.URL.String())
	m.mu.Unlock()
	if m.do != nil {
		m.do(w, r)
	}
}

func (m *monitor) requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen
}

// held is a lease that is valid or not.
type held bool

func (h held) Deadline() time.Time              { return time.Now().Add(time.Hour) }
func (h held) Valid() bool                      { return bool(h) }
func (h held) OnRenewal(func(time.Time)) func() { return func() {} }

var run = jobs.Run{Namespace: "billing", Job: "report", Tick: time.UnixMilli(1774747800250), Attempt: 1, Lease: held(true)}

// id is the version 5 UUID of that run.
const id = "48b259ee-aa8e-5fc5-af94-60634415323e"

func around(m *monitor, policy jobs.Retry, do jobs.Handler) (jobs.Handler, *bytes.Buffer) {
	var log bytes.Buffer
	n := config.Notify{Healthchecks: config.NewSecret(m.url + "/secret")}
	return Around(do, n, policy, slog.New(slog.NewTextHandler(&log, nil))), &log
}

func TestEndsAreReportedByTheirOutcome(t *testing.T) {
	fails := errors.New("no")
	cancelled := func(ctx context.Context, cause error) context.Context {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(cause)
		return ctx
	}
	for name, test := range map[string]struct {
		run   func(*jobs.Run)
		cause error
		err   error
		want  string
	}{
		"succeeded":                    {want: "/secret?"},
		"failed for good":              {run: func(r *jobs.Run) { r.Attempt = 2 }, err: fails, want: "/secret/fail?"},
		"failed, and another follows":  {err: fails},
		"failed permanently":           {err: jobs.Permanent(fails), want: "/secret/fail?"},
		"cancelled by somebody":        {cause: &protocol.CancelledError{By: "ops"}, err: fails, want: "/secret/fail?"},
		"timed out for good":           {run: func(r *jobs.Run) { r.Attempt = 2 }, cause: &jobs.TimeoutError{Setting: "timeout"}, err: fails, want: "/secret/fail?"},
		"the replica stops":            {cause: errors.New("stopping"), err: fails},
		"it did its work all the same": {cause: errors.New("stopping"), want: "/secret?"},
		"the lease was lost":           {run: func(r *jobs.Run) { r.Lease = held(false) }, err: fails},
		"the lease was lost unnoticed": {run: func(r *jobs.Run) { r.Lease = held(false) }},
		"the lease was about to end":   {run: func(r *jobs.Run) { r.Attempt = 2 }, err: jobs.ErrLeaseEnding},
	} {
		t.Run(name, func(t *testing.T) {
			m, ctx, r := newMonitor(t, nil), t.Context(), run
			if test.cause != nil {
				ctx = cancelled(ctx, test.cause)
			}
			if test.run != nil {
				test.run(&r)
			}
			handler, log := around(m, jobs.Retry{MaxAttempts: 2}, func(context.Context, jobs.Run) error { return test.err })
			require.Equal(t, test.err, handler(ctx, r))
			want := []string{"POST /secret/start?rid=" + id}
			if test.want != "" {
				want = append(want, "POST "+test.want+"rid="+id)
			}
			require.Equal(t, want, m.requests())
			require.Empty(t, log.String())
		})
	}
}

func TestSentryLearnsTheStatusUnderOneId(t *testing.T) {
	m := newMonitor(t, nil)
	n := config.Notify{Sentry: config.NewSecret(m.url + "/api/2/cron/report/key/?environment=eu")}
	handler := Around(func(context.Context, jobs.Run) error { return errors.New("no") }, n, jobs.Retry{MaxAttempts: 1}, slog.Default())
	require.Error(t, handler(t.Context(), run))
	require.Equal(t, []string{
		"POST /api/2/cron/report/key/?check_in_id=" + id + "&environment=eu&status=in_progress",
		"POST /api/2/cron/report/key/?check_in_id=" + id + "&environment=eu&status=error",
	}, m.requests())
}

func TestMonitorThatFailsIsAskedAgain(t *testing.T) {
	var tries int
	m := newMonitor(t, func(w http.ResponseWriter, r *http.Request) {
		if tries++; tries < 4 { // one request at a time
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	handler, log := around(m, jobs.Retry{MaxAttempts: 1}, func(context.Context, jobs.Run) error { return nil })
	require.NoError(t, handler(t.Context(), run))
	require.Len(t, m.requests(), 4, "the start once, the end until it arrived")
	require.Equal(t, 1, strings.Count(log.String(), "check-in failed"), "the start")
}

func TestMonitorThatRefusesIsAskedOnce(t *testing.T) {
	m := newMonitor(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	handler, log := around(m, jobs.Retry{MaxAttempts: 1}, func(context.Context, jobs.Run) error { return nil })
	require.NoError(t, handler(t.Context(), run))
	require.Len(t, m.requests(), 2)
	require.Contains(t, log.String(), "status 404")
	require.NotContains(t, log.String(), "secret")
}

func TestMonitorThatHangsNeverFailsTheRun(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	m := newMonitor(t, func(http.ResponseWriter, *http.Request) { <-ended })
	defer close(ended)
	handler, log := around(m, jobs.Retry{MaxAttempts: 1}, func(context.Context, jobs.Run) error { return nil })
	began := time.Now()
	require.NoError(t, handler(t.Context(), run))
	require.Less(t, time.Since(began), requestTimeout+reportTimeout+5*time.Second)
	require.Equal(t, 2, strings.Count(log.String(), "check-in failed"))
	require.NotContains(t, log.String(), "secret")
}

func TestWithoutMonitorsTheHandlerIsItself(t *testing.T) {
	called := false
	handler := Around(func(context.Context, jobs.Run) error { called = true; return nil }, config.Notify{}, jobs.Retry{}, nil)
	require.NoError(t, handler(t.Context(), jobs.Run{})) // a run without a lease
	require.True(t, called)
}

func TestRunIdIsOneForAllAttempts(t *testing.T) {
	again := run
	again.Attempt, again.Token, again.Replica = 3, 9, "b"
	require.Equal(t, id, RunID(again))
	require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, RunID(run))
	again.Tick = run.Tick.Add(time.Millisecond)
	require.NotEqual(t, id, RunID(again))
}
