package http_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	nethttp "net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/http"
)

// pointLease keeps checkpoints.
type pointLease struct{ made []string }

func (*pointLease) Deadline() time.Time              { return time.Now().Add(time.Minute) }
func (*pointLease) Valid() bool                      { return true }
func (*pointLease) OnRenewal(func(time.Time)) func() { return func() {} }

func (l *pointLease) Checkpoint(_ context.Context, position []byte) error {
	l.made = append(l.made, string(position))
	return errors.New("not now")
}

func (l *pointLease) Progress(_ context.Context, percent int, text string) error {
	l.made = append(l.made, fmt.Sprintf("%d%% %s", percent, text))
	return nil
}

func (l *pointLease) Sync(context.Context) error {
	l.made = append(l.made, "sync")
	return errors.New("not now")
}

func encoded(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// doAt makes the call with a position and a timeout.
func doAt(t *testing.T, call http.Call, position string, timeout time.Duration) (made []string, err error) {
	t.Helper()
	handler, err := http.New(call, nil)
	require.NoError(t, err)
	l, at := new(pointLease), run
	at.Lease, at.Position = l, []byte(position)
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	err = handler(ctx, at)
	return l.made, err
}

func TestLongJobGoesOnStepByStep(t *testing.T) {
	var got []string
	url := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		got = append(got, r.Header.Get("Solotick-Position")+" "+r.Header.Get("Idempotency-Key")+" "+r.Header.Get("Solotick-Attempt"))
		switch n := len(got); n {
		case 1, 2:
			w.Header().Set("Solotick-Checkpoint", encoded(fmt.Sprint("page>?", n)))
			w.Header().Set("Solotick-Progress", fmt.Sprint(n*40, " page ", n))
			fallthrough
		case 3: // no further checkpoint
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(nethttp.StatusAccepted)
		}
	})
	made, err := doAt(t, http.Call{URL: url, Steps: true}, "page 0", time.Minute)
	require.NoError(t, err)
	require.Equal(t, []string{"page>?1", "40% page 1", "sync", "page>?2", "80% page 2", "sync"}, made)
	id := " " + run.TickID() + " 2"
	require.Equal(t, []string{encoded("page 0") + id, encoded("page>?1") + id, encoded("page>?2") + id, encoded("page>?2") + id}, got)
}

func TestStepsWaitAsAskedAndEndWithTheTimeout(t *testing.T) {
	var times []time.Time
	url := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		times = append(times, time.Now())
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(nethttp.StatusAccepted)
	})
	_, err := doAt(t, http.Call{URL: url, Steps: true, Timeout: 900 * time.Millisecond}, "", 1500*time.Millisecond)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Len(t, times, 2)
	require.GreaterOrEqual(t, times[1].Sub(times[0]), time.Second)

	require.ErrorContains(t, do(t, t.Context(), http.Call{URL: url, Steps: true}), "needs a timeout")
	require.Len(t, times, 2)
	require.NoError(t, do(t, t.Context(), http.Call{URL: url}), "without steps it is a success")
}

func TestStepWithoutRetryAfterIsTheLast(t *testing.T) {
	made, err := doAt(t, http.Call{URL: serve(t, answer(nethttp.StatusAccepted, "")), Steps: true}, "", time.Minute)
	require.NoError(t, err)
	require.Empty(t, made)
}

func TestFailedAttemptMakesACheckpointToo(t *testing.T) {
	url := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
		w.Header().Set("Solotick-Checkpoint", encoded("page 7")+"==")
		w.WriteHeader(nethttp.StatusServiceUnavailable)
	})
	made, err := doAt(t, http.Call{URL: url}, "", time.Minute)
	require.ErrorContains(t, err, "503")
	require.Equal(t, []string{"page 7"}, made)
}

func TestStepWithAFaultyCheckpointFailsForGood(t *testing.T) {
	for _, value := range []string{"not base64!", encoded(string(make([]byte, 1025)))} {
		url := serve(t, func(w nethttp.ResponseWriter, _ *nethttp.Request) {
			w.Header().Set("Solotick-Checkpoint", value)
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(nethttp.StatusAccepted)
		})
		made, err := doAt(t, http.Call{URL: url, Steps: true}, "", time.Minute)
		require.ErrorContains(t, err, "Solotick-Checkpoint must be base64url of at most 1024 bytes")
		_, permanent := errors.AsType[*jobs.PermanentError](err)
		require.True(t, permanent)
		require.Empty(t, made)
	}
}
