package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/cmd/worker/internal/filetest"
	"github.com/solotick/solotick/cmd/worker/internal/workertest"
	"github.com/solotick/solotick/internal/redistest"
)

// hook is a receiver of notifications.
type hook struct {
	url string
	// answer returns the status of the response to a notification. If it is nil, the status is 200.
	answer func(n notification) int

	mu       sync.Mutex
	received []notification
}

// notification is what a webhook gets.
type notification struct {
	Type string
	Data struct{ ID, Job, Condition, Was, Error string }
}

func newHook(t *testing.T, answer func(notification) int) *hook {
	t.Helper()
	h := &hook{answer: answer}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var n notification
	if err != nil || json.Unmarshal(body, &n) != nil || r.Header.Get("Webhook-Id") != n.Data.ID {
		n.Type = "broken: " + string(body)
	}
	h.mu.Lock()
	h.received = append(h.received, n)
	h.mu.Unlock()
	if h.answer != nil {
		w.WriteHeader(h.answer(n))
	}
}

func (h *hook) all() []notification {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.received)
}

// conditions are what arrived, each id once, in the order in which it arrived first.
func (h *hook) conditions(job string) (list []string) {
	seen := map[string]bool{}
	for _, n := range h.all() {
		if n.Data.Job == job && !seen[n.Data.ID] {
			seen[n.Data.ID] = true
			list = append(list, n.Data.Condition)
		}
	}
	return list
}

// await waits until so many different notifications of a job have arrived.
func (h *hook) await(t *testing.T, job string, conditions ...string) {
	t.Helper()
	require.Eventually(t, func() bool { return len(h.conditions(job)) >= len(conditions) }, workertest.Patience, 20*time.Millisecond)
	require.Equal(t, conditions, h.conditions(job)[:len(conditions)])
}

// notified is a configuration with a job that fails while a file is there.
func notified(t *testing.T, redis string, receivers ...string) (path, broken string) {
	t.Helper()
	broken = t.TempDir() + "/broken"
	require.NoError(t, os.WriteFile(broken, nil, 0o600))
	return filetest.Config(t, "redis: {url: \""+redis+"\"}\nlease: {ttl: 1s}\nnotifications:\n  interval: 100ms\n  confirm: 1s\n  receivers:\n"+
		"  - "+strings.Join(receivers, "\n  - ")+"\njobs:\n- name: report\n  schedule: \"@every 1s\"\n"+
		"  exec: {command: [sh, -c, \"test ! -e "+broken+"\"]}\n"), broken
}

// The first worker is killed when the receiver has the notification, and before the store has.
func TestKilledNotifiersNotificationComesAgain(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	arrived, killed := make(chan notification, 100), make(chan struct{})
	h := newHook(t, func(n notification) int { arrived <- n; <-killed; return 200 })
	path, broken := notified(t, server.URL(), "{name: ops, url: \""+h.url+"\"}")
	first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	n := <-arrived
	require.Equal(t, "job.failed", n.Type)
	require.Equal(t, "ok", n.Data.Was)
	first.Signal(syscall.SIGKILL)
	first.Exit()
	close(killed)

	workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "second").Await("notification sent", "receiver", "ops", "id", n.Data.ID)
	require.NoError(t, os.Remove(broken))
	h.await(t, "report", "failed", "ok")
	require.Equal(t, []notification{n, n}, h.all()[:2])
}

// A worker that freezes while it sends is replaced. If both send a notification, it has the same ID.
func TestFrozenNotifierIsReplaced(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	arrived := make(chan notification, 100)
	h := newHook(t, func(n notification) int { arrived <- n; return 200 })
	path, broken := notified(t, server.URL(), "{name: ops, url: \""+h.url+"\"}")
	first := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	<-arrived
	first.Signal(syscall.SIGSTOP)
	second := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	second.Await("this replica sends the notifications")
	require.NoError(t, os.Remove(broken))
	h.await(t, "report", "failed", "ok")
	first.Signal(syscall.SIGCONT)
	first.Await("tick settled", "job", "report", "outcome", "succeeded")
	require.NoError(t, os.WriteFile(broken, nil, 0o600))
	h.await(t, "report", "failed", "ok", "failed")
}

// While Redis is away for longer than a TTL, and a receiver fails, nothing is lost, and others do
// not wait.
func TestNotificationsOutliveOutages(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithAOF())
	var away sync.Map
	slow := newHook(t, func(notification) int {
		if _, is := away.Load("slow"); is {
			return http.StatusServiceUnavailable
		}
		return 200
	})
	well := newHook(t, nil)
	path, broken := notified(t, server.URL(), "{name: slow, url: \""+slow.url+"\"}", "{name: well, url: \""+well.url+"\"}")
	away.Store("slow", true)
	p := workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "second")
	well.await(t, "report", "failed")
	server.Freeze()
	p.Await("store does not answer; nothing starts until it does")
	require.NoError(t, os.Remove(broken))
	time.Sleep(1100 * time.Millisecond) // the outage lasts for more than a TTL
	server.Thaw()
	well.await(t, "report", "failed", "ok")
	away.Delete("slow")
	slow.await(t, "report", "failed", "ok")
}

func TestUnservedJobsAreNotifiedOf(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	h := newHook(t, nil)
	path := filetest.Config(t, "redis: {url: \""+server.URL()+"\"}\nlease: {ttl: 1s}\nnotifications: {interval: 100ms, confirm: 500ms, receivers: [{name: ops, url: \""+
		h.url+"\", jobs: [\"*\", \"!quiet\"]}]}\njobs:\n- {name: apart, groups: [eu], schedule: \"@every 1s\", log: {message: m}}\n"+
		"- {name: quiet, groups: [eu], schedule: \"@every 1s\", log: {message: m}}\n- {name: muted, paused: true, groups: [eu], schedule: \"@every 1s\", log: {message: m}}\n")
	workertest.Start(t, path, "--http", "127.0.0.1:0", "--replica", "first")
	h.await(t, "apart", "unserved")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	workertest.Start(t, filetest.Config(t, "groups: [eu]\n"+string(text)), "--http", "127.0.0.1:0", "--replica", "second")
	h.await(t, "apart", "unserved", "ok")
	require.Empty(t, h.conditions("quiet"))
	require.Empty(t, h.conditions("muted"))
}

func TestReceiversAreTriedByHand(t *testing.T) {
	t.Parallel()
	well := newHook(t, nil)
	broken := newHook(t, func(notification) int { return http.StatusBadRequest })
	path := filetest.Config(t, "notifications: {receivers: [{name: well, url: \""+well.url+"/hunter2\", conditions: [lost]}, {name: broken, url: \""+broken.url+
		"/hunter2\"}]}\njobs: [{name: a, schedule: \"@daily\", log: {message: m}}]\n")
	r := workertest.Do(t, nil, "notify", "test", "--config", path)
	require.Equal(t, 1, r.Code)
	require.Contains(t, r.Stdout, "well (webhook) has taken it\nbroken (webhook) failed: 127.0.0.1:")
	require.Contains(t, r.Stdout, ": status 400\n")
	require.Contains(t, r.Stderr, "1 of 2 receivers have not taken it")
	require.NotContains(t, r.Stdout+r.Stderr, "hunter2")
	require.Equal(t, []string{"failed"}, well.conditions("a-job"))

	r = workertest.Do(t, nil, "notify", "test", "--config", path, "--to", "well", "--condition", "ok")
	require.Equal(t, workertest.Result{Stdout: "well (webhook) has taken it\n"}, r)
	require.Equal(t, []string{"failed", "ok"}, well.conditions("a-job"))
	require.Len(t, broken.all(), 1)

	for want, args := range map[string][]string{
		`--to: "other" is no receiver of this configuration`: {"notify", "test", "--config", path, "--to", "other"},
		`--condition: "late" must be one of ok, failed`:      {"notify", "test", "--config", path, "--condition", "late"},
		"which command? there is: test":                      {"notify", "again"},
	} {
		r := workertest.Do(t, nil, args...)
		require.Equal(t, 2, r.Code)
		require.Contains(t, r.Stderr, want)
	}
}

func TestFaultsOfReceiversHaveTheirLines(t *testing.T) {
	t.Parallel()
	path := filetest.Config(t, "notifications:\n  receivers:\n  - {name: a, url: http://h}\n  - {name: b, kind: pagerduty}\n"+
		"  - {name: c, url: http://h, template: '{\"a\": \"{{.Error}}\"}'}\njobs: [{name: a, leader: true, notify: {after: 2}, log: {message: m}}]\n")
	r := workertest.Do(t, nil, "validate", "--config", path)
	require.Equal(t, 2, r.Code)
	require.Contains(t, r.Stderr, ":4:5: notifications.receivers[1].secret: is missing; write the integration key")
	require.Contains(t, r.Stderr, ":5:40: notifications.receivers[2].template: does not make JSON of every notification")
	require.Contains(t, r.Stderr, ":6:40: jobs[0].notify: must be left out of a leader task")
	p := workertest.Start(t, path, "--http", "127.0.0.1:0")
	require.Equal(t, 2, p.Exit())
}
