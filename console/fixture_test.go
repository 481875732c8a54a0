package console_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/solotick/solotick/console"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/heartbeat"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	readSecret    = "read-secret-of-the-tests"
	operateSecret = "operate-secret-of-the-tests"
)

// site is a console with a store in memory, in which two jobs have run.
type site struct {
	*testing.T
	store   *faultyStore
	console *console.Console
}

func newSite(t *testing.T, opts ...console.Option) *site {
	s := &site{T: t, store: &faultyStore{Store: new(memlease.Store)}}
	registry := registryOf(t, "report", "sync")
	for _, job := range registry.All() {
		s.store.settle(t, job.Name(), "succeeded")
	}
	c, err := console.New(s.store, append([]console.Option{console.WithJobs(registry.All)}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	s.console = c
	return s
}

// withTokens are the tokens of the tests.
func withTokens() console.Option {
	return console.WithTokens(
		console.Token{Name: "reader", Role: console.Read, Value: readSecret},
		console.Token{Name: "ops", Role: console.Operate, Value: operateSecret},
	)
}

func registryOf(t *testing.T, names ...string) *jobs.Registry {
	registry := new(jobs.Registry)
	for _, name := range names {
		job, err := jobs.New(name, "0 0 1 1 *", func(context.Context, jobs.Run) error { return nil })
		require.NoError(t, err)
		require.NoError(t, registry.Add(job))
	}
	return registry
}

// request makes a request as a browser or program on this machine sends it. Changes to it follow as
// functions.
func request(method, target string, body string, changes ...func(*http.Request)) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host, r.RemoteAddr = "localhost:8080", "127.0.0.1:50000"
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}))
	for _, change := range changes {
		change(r)
	}
	return r
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

func bearer(secret string) func(*http.Request) { return header("Authorization", "Bearer "+secret) }

func asJSON(r *http.Request) { r.Header.Set("Content-Type", "application/json") }

func asForm(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") }

// answer is the whole response to a request, in memory.
type answer struct{ *http.Response }

// do answers a request.
func (s *site) do(r *http.Request) answer {
	w := httptest.NewRecorder()
	s.console.ServeHTTP(w, r)
	return answer{w.Result()}
}

func (s *site) get(target string, changes ...func(*http.Request)) answer {
	return s.do(request(http.MethodGet, target, "", changes...))
}

// decode reads the body as JSON.
func (s *site) decode(r answer) map[string]any {
	s.Helper()
	var v map[string]any
	require.NoError(s, json.Unmarshal([]byte(text(s, r)), &v))
	return v
}

func text(t require.TestingT, r answer) string {
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(b)
}

// faultyStore is a store in memory that fails or waits on demand, and counts how often it is asked
// for summaries.
type faultyStore struct {
	*memlease.Store
	away  atomic.Pointer[error]         // is returned in place of an answer
	hold  atomic.Pointer[chan struct{}] // answers wait until it is closed
	reads atomic.Int64

	listed atomic.Int64 // schedules
}

func (s *faultyStore) obstacle(ctx context.Context) error {
	if wait := s.hold.Load(); wait != nil {
		select {
		case <-*wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := s.away.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *faultyStore) Time(ctx context.Context) (now, since time.Time, err error) {
	if err := s.obstacle(ctx); err != nil {
		return now, since, err
	}
	return s.Store.Time(ctx)
}

func (s *faultyStore) Names(ctx context.Context, cursor string, count int) ([]string, string, error) {
	s.reads.Add(1)
	if err := s.obstacle(ctx); err != nil {
		return nil, "", err
	}
	return s.Store.Names(ctx, cursor, count)
}

func (s *faultyStore) Inspect(ctx context.Context, name string) (protocol.Record, error) {
	if err := s.obstacle(ctx); err != nil {
		return protocol.Record{}, err
	}
	return s.Store.Inspect(ctx, name)
}

func (s *faultyStore) ListSchedules(ctx context.Context, job, prefix, cursor string, count int) ([]protocol.Keyed, string, error) {
	if err := s.obstacle(ctx); err != nil {
		return nil, "", err
	}
	list, next, err := s.Store.ListSchedules(ctx, job, prefix, cursor, count)
	s.listed.Add(int64(len(list)))
	return list, next, err
}

func (s *faultyStore) Locks(ctx context.Context, prefix, cursor string, count int) ([]protocol.Lock, string, error) {
	if err := s.obstacle(ctx); err != nil {
		return nil, "", err
	}
	return s.Store.Locks(ctx, prefix, cursor, count)
}

func (s *faultyStore) Notes(ctx context.Context, name string, count int) ([]protocol.JournalEntry, error) {
	if err := s.obstacle(ctx); err != nil {
		return nil, err
	}
	return s.Store.Notes(ctx, name, count)
}

func (s *faultyStore) Audit(ctx context.Context, cursor string, count int) (protocol.AuditPage, error) {
	if err := s.obstacle(ctx); err != nil {
		return protocol.AuditPage{}, err
	}
	return s.Store.Audit(ctx, cursor, count)
}

// settle runs a tick of a job that was due a minute ago, and settles it.
func (s *faultyStore) settle(t require.TestingT, job string, outcome lease.Outcome) {
	g := s.claim(t, job)
	require.NoError(t, s.Settle(context.Background(), g, outcome))
}

// claim takes a tick of a job that is due.
func (s *faultyStore) claim(t require.TestingT, job string) protocol.Grant {
	ctx := context.Background()
	now, _, err := s.Store.Time(ctx)
	require.NoError(t, err)
	_, err = s.Sync(ctx, []protocol.Sync{{Name: job, Watermark: now.Add(-time.Hour).UnixMilli(), Schedule: "UTC 0 0 1 1 *"}})
	require.NoError(t, err)
	r, err := s.Store.Inspect(ctx, job)
	require.NoError(t, err)
	tick := max(r.Watermark/1000*1000+1000, now.Add(-time.Minute).Truncate(time.Second).UnixMilli())
	a, err := s.Claim(ctx, protocol.Claim{Name: job, Tick: tick, Holder: "worker-1", Request: "r" + time.Now().Format("150405.000000000"), TTL: time.Minute})
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, a.Status)
	return protocol.Grant{Name: job, Tick: tick, Holder: "worker-1", Request: "r", Token: a.Token, Attempt: 1, TTL: time.Minute}
}

// take claims the tick of a job that was triggered.
func (s *faultyStore) take(t require.TestingT, job string) protocol.Grant {
	ctx := context.Background()
	r, err := s.Store.Inspect(ctx, job)
	require.NoError(t, err)
	require.Len(t, r.Open, 1)
	tick := r.Open[0].Tick
	a, err := s.Claim(ctx, protocol.Claim{Name: job, Tick: tick, Holder: "worker-1", Request: "q" + strconv.FormatInt(tick, 10), TTL: time.Minute})
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, a.Status)
	return protocol.Grant{Name: job, Tick: tick, Holder: "worker-1", Request: "q", Token: a.Token, Attempt: 1, TTL: time.Minute}
}

// logTo logs to a text.
func logTo(w io.Writer) console.Option {
	return console.WithLogger(slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})))
}

// payload claims the tick that waits, and returns what it was triggered with.
func (s *faultyStore) payload(t require.TestingT, job string) string {
	r, err := s.Inspect(context.Background(), job)
	require.NoError(t, err)
	require.Len(t, r.Open, 1)
	a, err := s.Claim(context.Background(), protocol.Claim{
		Name: job, Tick: r.Open[0].Tick, Holder: "other", Request: protocol.NewRequest(), TTL: time.Hour, OnlyOpen: true,
	})
	require.NoError(t, err)
	require.Equal(t, protocol.Granted, a.Status)
	return a.Payload
}

// remove makes the store forget a job.
func (s *faultyStore) remove(t require.TestingT, job string) {
	ctx := context.Background()
	r, err := s.Store.Inspect(ctx, job)
	require.NoError(t, err)
	a, err := s.Remove(ctx, protocol.Remove{Name: job, Watermark: r.Watermark, Token: r.Token})
	require.NoError(t, err)
	require.Equal(t, protocol.RecordRemoved, a.Status)
}

func newRecorder() *httptest.ResponseRecorder { return httptest.NewRecorder() }

// fill gives the store something of everything: runs, outcomes, a pause, a replica, and one that is
// gone.
func (s *faultyStore) fill(t require.TestingT) {
	ctx := context.Background()
	s.settle(t, "report", "failed")
	s.claim(t, "report")
	f, err := fleet.New(s)
	require.NoError(t, err)
	_, err = f.Pause(ctx, "sync", fleet.Act{By: "ops", Reason: "a test"})
	require.NoError(t, err)
	now, _, err := s.Store.Time(ctx)
	require.NoError(t, err)
	for i, id := range []string{"worker-1", "worker-2"} {
		replica := heartbeat.Replica{
			ID: id, Groups: []string{"eu"}, Started: now, Version: "v1", TTL: 10 * time.Second, Jobs: map[string]string{"report": strings.Repeat("0", 11) + strconv.Itoa(i)},
		}
		require.NoError(t, s.SendHeartbeat(ctx, id, replica.Encode(), time.Minute))
	}
}
