package console_test

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
)

// sse is one event of a stream.
type sse struct{ id, event, data string }

// listener reads a stream of events.
type listener struct {
	t      *testing.T
	answer *http.Response
	events chan sse
	ended  chan error
}

// serve serves a console as a program does, with a limit for answers that a stream outlasts.
func serve(t *testing.T, s *site) string {
	server := httptest.NewUnstartedServer(s.console)
	server.Config.WriteTimeout, server.Config.ReadTimeout = time.Second, time.Second
	server.Config.RegisterOnShutdown(s.console.Close)
	server.Start()
	t.Cleanup(func() { require.NoError(t, server.Config.Shutdown(context.Background())); server.Close() })
	return server.URL
}

func listen(t *testing.T, url string, changes ...func(*http.Request)) *listener {
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(stop)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	for _, change := range changes {
		change(r)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r) //nolint:bodyclose // read closes it
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, "text/event-stream", answer.Header.Get("Content-Type"))
	l := &listener{t: t, answer: answer, events: make(chan sse, 1000), ended: make(chan error, 1)}
	go l.read()
	t.Cleanup(func() {
		stop()
		for range l.ended { // its reader has ended when it is closed
		}
	})
	return l
}

func (l *listener) read() {
	defer func() { _ = l.answer.Body.Close() }()
	lines := bufio.NewScanner(l.answer.Body)
	lines.Buffer(nil, 1<<24)
	var e sse
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.event = value
		case "data":
			e.data = value
		case "":
			if e.data != "" {
				l.events <- e
			}
			e = sse{id: e.id}
		}
	}
	l.ended <- lines.Err()
	close(l.ended)
}

// next returns the next event.
func (l *listener) next() sse {
	l.t.Helper()
	select {
	case e := <-l.events:
		return e
	case <-time.After(30 * time.Second):
		require.Fail(l.t, "no event came")
		return sse{}
	}
}

// until returns the first event that a test accepts.
func (l *listener) until(accept func(sse) bool) sse {
	l.t.Helper()
	for {
		if e := l.next(); accept(e) {
			return e
		}
	}
}

func about(words ...string) func(sse) bool {
	return func(e sse) bool {
		for _, word := range words {
			if !strings.Contains(e.data, word) {
				return false
			}
		}
		return true
	}
}

// warm reads the snapshot, so that later changes are differences.
func (s *site) warm() { require.Equal(s, http.StatusOK, s.get("/api/v1/jobs").StatusCode) }

func TestStreamSaysWhatHasChanged(t *testing.T) {
	s := newSite(t)
	s.warm()
	l := listen(t, serve(t, s)+"/api/v1/events")
	require.Equal(t, "ready", l.next().event)
	g := s.store.claim(t, "report")
	e := l.until(about(`"job":"report"`, `"state":"running"`))
	require.Equal(t, "change", e.event)
	require.NotContains(t, e.data, `"job":"sync"`)
	require.NoError(t, s.store.Settle(t.Context(), g, "failed"))
	l.until(about(`"job":"report"`, `"state":"idle"`, `"outcome":"failed"`))
}

func TestStreamOutlastsTheTimeoutsOfItsServer(t *testing.T) {
	s := newSite(t)
	s.warm()
	l := listen(t, serve(t, s)+"/events")
	require.Equal(t, "ready", l.next().event)
	require.Equal(t, "alive", l.next().event, "after 2 s, twice what the server allows for other answers, and for reads")
	s.store.claim(t, "sync")
	l.until(func(e sse) bool { return e.event == "change" })
}

func TestStreamGoesOnAfterTheLastEvent(t *testing.T) {
	s := newSite(t)
	s.warm()
	url := serve(t, s)
	l := listen(t, url+"/api/v1/events")
	ready := l.next()
	s.store.claim(t, "report")
	first := l.until(about(`"job":"report"`))
	s.store.claim(t, "sync")
	second := l.until(about(`"job":"sync"`))

	again := listen(t, url+"/api/v1/events", header("Last-Event-ID", first.id))
	require.Equal(t, sse{first.id, "ready", "{}"}, again.next())
	require.Equal(t, second, again.next())
	by := listen(t, url+"/api/v1/events?after="+ready.id)
	require.Equal(t, "ready", by.next().event)
	require.Equal(t, first, by.next())
}

func TestStreamThatMissedEventsStartsOver(t *testing.T) {
	s := newSite(t)
	s.warm()
	url := serve(t, s)
	for _, id := range []string{"another-5", "x", "-", "-1", strings.Repeat("9", 300), "0", "\u00e9-1"} {
		l := listen(t, url+"/api/v1/events", header("Last-Event-ID", id))
		require.Equal(t, "reset", l.next().event, "%q", id)
	}
	l := listen(t, url+"/api/v1/events")
	id := l.next().id
	process, _, _ := strings.Cut(id, "-")
	for _, number := range []string{"-1", "-99", "-18446744073709551615", "-99999999999999999999"} {
		l := listen(t, url+"/api/v1/events?after="+process+number)
		require.Equal(t, "reset", l.next().event, number)
	}
}

func TestStreamOfAJobHasNothingElse(t *testing.T) {
	s := newSite(t)
	s.warm()
	l := listen(t, serve(t, s)+"/api/v1/events?job=sync")
	require.Equal(t, "ready", l.next().event)
	s.store.claim(t, "report")
	s.store.claim(t, "sync")
	e := l.next()
	require.Contains(t, e.data, `"job":"sync"`)
	require.NotContains(t, e.data, `"job":"report"`)
}

func TestAThousandStreamsEndWithTheConsole(t *testing.T) {
	const count = 1000
	s := newSite(t)
	s.warm()
	before := runtime.NumGoroutine()
	ready, changed := make(chan struct{}, count), make(chan struct{}, count)
	var streams sync.WaitGroup
	for range count {
		w := &countingWriter{header: http.Header{}, ready: ready, changed: changed}
		streams.Go(func() { s.console.ServeHTTP(w, request(http.MethodGet, "/events", "")) })
	}
	await(t, ready, count)
	reads := s.store.reads.Load()
	s.store.claim(t, "report")
	await(t, changed, count)
	require.LessOrEqual(t, s.store.reads.Load()-reads, int64(60), "one read serves all of them")

	s.console.Close()
	streams.Wait()
	for deadline := time.Now().Add(30 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
	require.Equal(t, http.StatusServiceUnavailable, s.get("/events").StatusCode)
	require.Equal(t, http.StatusServiceUnavailable, s.get("/").StatusCode)
}

func await(t *testing.T, signals <-chan struct{}, count int) {
	t.Helper()
	deadline := time.After(60 * time.Second)
	for n := range count {
		select {
		case <-signals:
		case <-deadline:
			require.Fail(t, "too few", "%d of %d", n, count)
		}
	}
}

// countingWriter is the client of a stream, which says when it is ready and when something has
// changed.
type countingWriter struct {
	header         http.Header
	ready, changed chan<- struct{}
	once           sync.Once
}

func (w *countingWriter) Header() http.Header            { return w.header }
func (*countingWriter) WriteHeader(int)                  {}
func (*countingWriter) Flush()                           {}
func (*countingWriter) SetWriteDeadline(time.Time) error { return nil }
func (*countingWriter) SetReadDeadline(time.Time) error  { return nil }
func (w *countingWriter) Write(b []byte) (int, error) {
	if strings.Contains(string(b), "event: ready") {
		w.ready <- struct{}{}
	}
	if strings.Contains(string(b), "event: change") {
		w.once.Do(func() { w.changed <- struct{}{} })
	}
	return len(b), nil
}

func TestStreamsAreBounded(t *testing.T) {
	s := newSite(t, console.WithMaxStreams(2))
	url := serve(t, s)
	first := listen(t, url+"/events")
	first.next()
	listen(t, url+"/events").next()
	r := s.get("/api/v1/events")
	require.Equal(t, http.StatusServiceUnavailable, r.StatusCode)
	require.NotEmpty(t, r.Header.Get("Retry-After"))
	require.Contains(t, text(t, r), "there are 2 streams, which is the most")
	require.NoError(t, first.answer.Body.Close())
	require.Eventually(t, func() bool {
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer stop()
		return s.do(request(http.MethodGet, "/api/v1/events", "").WithContext(addressed(ctx))).StatusCode == http.StatusOK
	}, 30*time.Second, 50*time.Millisecond, "one that has ended makes room")
}

func addressed(ctx context.Context) context.Context {
	return context.WithValue(ctx, http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080})
}

func TestClientThatTakesNothingIsDropped(t *testing.T) {
	s := newSite(t, console.WithStreamWriteTimeout(200*time.Millisecond))
	s.warm()
	url := serve(t, s)
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.(*net.TCPConn).SetReadBuffer(1))
	_, err = c.Write([]byte("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return s.console.OpenStreams() == 1 }, 30*time.Second, 10*time.Millisecond)
	for range 64 {
		s.console.AddEvent(strings.Repeat("x", 1<<18)) // far more than any buffer on the way has room for
	}
	require.Eventually(t, func() bool { return s.console.OpenStreams() == 0 }, 30*time.Second, 10*time.Millisecond)
}

func TestStreamEndsWithItsToken(t *testing.T) {
	allowed := make(chan console.Role, 1)
	allowed <- console.Read
	s := newSite(t, console.WithStreamInterval(50*time.Millisecond), console.WithAccess(func(*http.Request) console.Caller {
		role := <-allowed
		allowed <- role
		return console.Caller{Name: "jo", Role: role}
	}))
	l := listen(t, serve(t, s)+"/events")
	require.Equal(t, "ready", l.next().event)
	<-allowed
	allowed <- ""
	select {
	case err := <-l.ended:
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		require.Fail(t, "the stream goes on")
	}
}

func TestStoreIsNotReadWhileNobodyLooks(t *testing.T) {
	s := newSite(t)
	s.warm()
	l := listen(t, serve(t, s)+"/events")
	l.next()
	reads := s.store.reads.Load()
	require.Eventually(t, func() bool { return s.store.reads.Load() > reads }, 30*time.Second, 10*time.Millisecond, "a stream looks")
	require.NoError(t, l.answer.Body.Close())
	require.Eventually(t, func() bool { return s.console.OpenStreams() == 0 }, 30*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		reads := s.store.reads.Load()
		time.Sleep(3 * time.Second)
		return s.store.reads.Load() == reads
	}, 30*time.Second, time.Millisecond)
}

func TestSnapshotIsReadOnceForAllWhoLook(t *testing.T) {
	s := newSite(t)
	hold := make(chan struct{})
	s.store.hold.Store(&hold)
	var tabs sync.WaitGroup
	var asking atomic.Int32
	began := time.Now()
	for range 200 {
		tabs.Go(func() {
			asking.Add(1)
			if got := s.get("/jobs.json").StatusCode; got != http.StatusOK {
				t.Error(got)
			}
		})
	}
	require.Eventually(t, func() bool { return asking.Load() == 200 }, 30*time.Second, time.Millisecond)
	close(hold)
	tabs.Wait()
	require.LessOrEqual(t, s.store.reads.Load(), 1+int64(time.Since(began)/time.Second))
}

func TestStoreThatIsAwayIsSaidAndForgiven(t *testing.T) {
	operator := header("X-Test", "ops")
	s := newSite(t, console.WithAccess(func(r *http.Request) console.Caller {
		if r.Header.Get("X-Test") != "" {
			return console.Caller{Name: "ops", Role: console.Operate}
		}
		return console.Caller{Name: "me", Role: console.Read}
	}))
	s.store.fill(t)
	_, err := s.store.ClaimLock(t.Context(), protocol.LockClaim{Name: "shop", Holder: "till-1", Request: "r", TTL: time.Minute, Permits: 1, Limit: 1})
	require.NoError(t, err)
	f, err := fleet.New(s.store)
	require.NoError(t, err)
	_, err = f.Pause(t.Context(), "report", fleet.Act{By: "ops", Reason: "a test of the store"})
	require.NoError(t, err)
	for _, path := range []string{"/", "/timeline", "/load", "/fleet", "/locks", "/jobs/report"} {
		require.Equal(t, http.StatusOK, s.get(path).StatusCode, path)
	}
	away := errors.New("dial tcp 10.9.8.7:6379: connection refused")
	s.store.away.Store(&away)
	require.Eventually(t, func() bool {
		return s.get("/api/v1/jobs").StatusCode == http.StatusServiceUnavailable
	}, 30*time.Second, 20*time.Millisecond)
	r := s.get("/api/v1/jobs")
	require.NotEmpty(t, r.Header.Get("Retry-After"))
	require.NotContains(t, text(t, r), "10.9.8.7")
	page := s.decode(s.get("/jobs.json"))
	require.Equal(t, "the store does not answer", page["stale"], "a page shows the last snapshot, and says so")
	require.Len(t, page["jobs"], 2)
	for _, path := range []string{"/api/v1/jobs/report/history", "/api/v1/jobs/report", "/api/v1/timeline", "/api/v1/forecast", "/api/v1/replicas", "/api/v1/locks", "/api/v1/audit", "/api/v1/acts"} {
		r := s.get(path)
		require.Equal(t, http.StatusServiceUnavailable, r.StatusCode, path)
		require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"), path)
	}
	for path, has := range map[string]string{
		"/": "report", "/timeline": "report", "/load": "Runs at a time", "/fleet": "worker-1", "/locks": "shop", "/jobs/report": "a test of the store", "/jobs/sync": "Only what the list of jobs had",
		"/timeline?q=sync": "its history was not read", "/load?q=sync": "Runs at a time",
	} {
		r := s.get(path)
		require.Equal(t, http.StatusOK, r.StatusCode, path)
		page := text(t, r)
		require.Contains(t, page, "The store does not answer.", path)
		require.Contains(t, page, has, path)
	}
	for _, path := range []string{"/audit", "/jobs/report/why", "/jobs/report/ticks/1700000000000", "/jobs/report/pause", "/actions/pause", "/locks/release?name=shop&token=1"} {
		r := s.get(path, operator)
		require.Equal(t, http.StatusServiceUnavailable, r.StatusCode, path)
		require.Contains(t, text(t, r), "Try again", path)
	}
	require.Equal(t, http.StatusOK, s.get("/calendar.ics").StatusCode)

	s.store.away.Store(nil)
	require.Eventually(t, func() bool { return s.get("/api/v1/jobs").StatusCode == http.StatusOK }, 30*time.Second, 20*time.Millisecond)
}

func TestStoreThatIsSlowHoldsNobodyForLong(t *testing.T) {
	s := newSite(t, console.WithRequestTimeout(200*time.Millisecond))
	hold := make(chan struct{})
	s.store.hold.Store(&hold)
	defer close(hold)
	for _, path := range []string{"/", "/api/v1/jobs", "/api/v1/status", "/api/v1/jobs/report/history", "/locks.json", "/jobs/report/why.json"} {
		r := s.get(path)
		require.Equal(t, http.StatusServiceUnavailable, r.StatusCode, path)
	}
}

func TestStoreThatForgetsShowsWhatIsLeft(t *testing.T) {
	s := newSite(t)
	s.warm()
	l := listen(t, serve(t, s)+"/api/v1/events")
	l.next()
	for _, job := range []string{"report", "sync"} {
		s.store.remove(t, job)
	}
	l.until(about(`"job":"report"`, `"outcome":""`))
	page := s.decode(s.get("/api/v1/jobs"))
	require.Len(t, page["jobs"], 2, "the program defines them")
	require.Equal(t, http.StatusOK, s.get("/api/v1/jobs/report/history").StatusCode)
	r := s.do(request(http.MethodGet, "/api/v1/jobs/never/history", ""))
	require.Equal(t, http.StatusNotFound, r.StatusCode)
}

func TestOneReaderLeavesStreamsToOthers(t *testing.T) {
	s := newSite(t, withTokens(), console.WithMaxStreams(8))
	url := serve(t, s)
	for range 2 {
		listen(t, url+"/events", bearer(readSecret)).next()
	}
	r := s.get("/api/v1/events", bearer(readSecret))
	require.Equal(t, http.StatusServiceUnavailable, r.StatusCode)
	require.Contains(t, text(t, r), "reader has 2 streams, which is the most for one: close some")
	for range 2 {
		listen(t, url+"/events", bearer(operateSecret)).next()
	}
}

func TestReadersLeaveStreamsToOperators(t *testing.T) {
	role := func(r *http.Request) console.Caller {
		return console.Caller{Name: r.Header.Get("X-User"), Role: console.Role(r.Header.Get("X-Role"))}
	}
	s := newSite(t, console.WithAccess(role), console.WithMaxStreams(8))
	url := serve(t, s)
	as := func(user, role string) func(*http.Request) {
		return func(r *http.Request) {
			r.Header.Set("X-User", user)
			r.Header.Set("X-Role", role)
		}
	}
	for _, user := range []string{"a", "a", "b", "b", "c", "c"} {
		listen(t, url+"/events", as(user, "read")).next()
	}
	require.Contains(t, text(t, s.get("/api/v1/events", as("d", "read"))), "there are 6 streams, which is the most")
	listen(t, url+"/events", as("ops", "operate")).next()
}
