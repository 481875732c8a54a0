package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/scheduler"
)

// world has a store, notifiers and receivers in a bubble.
type world struct {
	*testing.T
	store *memlease.Store
	jobs  []*jobs.Job
	log   lockedBuffer

	mu       sync.Mutex
	got      map[string][]string // what receivers got, by host
	ids      map[string][]string
	at       map[string][]time.Time
	answer   map[string]func(r *http.Request, job string) (*http.Response, error) // by host; nil: 200
	fails    map[string]bool
	requests int
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func inWorld(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			T: t, store: new(memlease.Store), got: map[string][]string{}, ids: map[string][]string{}, at: map[string][]time.Time{},
			answer: map[string]func(*http.Request, string) (*http.Response, error){},
		}
		time.Sleep(30 * time.Second) // minutes begin between two ticks
		test(w)
	})
}

// RoundTrip implements [http.RoundTripper].
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var n struct {
		Data struct{ ID, Job, Condition, Was string }
	}
	if err := json.Unmarshal(body, &n); err != nil {
		w.Errorf("a body that is no JSON: %s", body)
	}
	w.mu.Lock()
	w.requests++
	w.got[r.URL.Host] = append(w.got[r.URL.Host], n.Data.Job+" "+n.Data.Condition+"<"+n.Data.Was)
	w.ids[r.URL.Host] = append(w.ids[r.URL.Host], n.Data.ID)
	w.at[r.URL.Host] = append(w.at[r.URL.Host], time.Now())
	answer := w.answer[r.URL.Host]
	w.mu.Unlock()
	if answer != nil {
		return answer(r, n.Data.Job)
	}
	return status(http.StatusOK), nil
}

func status(code int) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
}

// received is what a host got, and forgets it.
func (w *world) received(host string) []string {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	got := w.got[host]
	delete(w.got, host)
	return got
}

func (w *world) answers(host string, answer func(r *http.Request, job string) (*http.Response, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer[host] = answer
}

func to(hosts ...string) (list []Receiver) {
	for _, h := range hosts {
		list = append(list, Receiver{Name: h, URL: "http://" + h + "/hunter2", Secret: "hunter2"})
	}
	return list
}

// start runs a notifier until the test or stop ends.
func (w *world) start(store lease.Store, receivers []Receiver, opts ...Option) (n *Notifier, stop func()) {
	w.Helper()
	n, err := New(store, receivers, append([]Option{
		WithJobs(func() []*jobs.Job { return w.jobs }), WithLogger(slog.New(slog.NewTextHandler(&w.log, nil))), WithReplica("r"),
	}, opts...)...)
	require.NoError(w, err)
	n.client.Transport = w
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := n.Run(ctx); !errors.Is(err, context.Canceled) {
			w.Errorf("Run: %v", err)
		}
	}()
	stop = sync.OnceFunc(func() { cancel(); <-ended })
	w.Cleanup(stop)
	return n, stop
}

// job adds a job that runs once a minute, and fails while fails has its name.
func (w *world) job(name string, opts ...jobs.Option) {
	w.Helper()
	j, err := jobs.New(name, "@every 1m", func(context.Context, jobs.Run) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.fails[name] {
			return errors.New("no")
		}
		return nil
	}, opts...)
	require.NoError(w, err)
	w.jobs = append(w.jobs, j)
}

// replica runs the jobs until the test or stop ends.
func (w *world) replica() (stop func()) {
	w.Helper()
	var registry jobs.Registry
	require.NoError(w, registry.Add(w.jobs...))
	s, err := scheduler.New(w.store, &registry, scheduler.WithObserver(func(scheduler.Event) {}))
	require.NoError(w, err)
	require.NoError(w, s.Start())
	stop = sync.OnceFunc(func() { require.NoError(w, s.Shutdown(context.Background())) })
	w.Cleanup(stop)
	return stop
}

// minute lets a tick of every job pass, with those that fail.
func (w *world) minute(fail ...string) {
	w.mu.Lock()
	w.fails = map[string]bool{}
	for _, name := range fail {
		w.fails[name] = true
	}
	w.mu.Unlock()
	time.Sleep(time.Minute)
	synctest.Wait()
}
