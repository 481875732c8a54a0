package notify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/lease/memlease"
)

func TestEachReceiverGetsEachChangeOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		w.job("a")
		w.job("b")
		w.replica()
		for range 3 {
			w.start(w.store, to("x", "y"))
		}
		w.minute()
		w.minute("a")
		w.minute("a", "b")
		w.minute()
		want := []string{"a failed<ok", "b failed<ok", "a ok<failed", "b ok<failed"}
		for _, host := range []string{"x", "y"} {
			got := w.received(host)
			require.Equal(w, want[:2], got[:2])
			require.ElementsMatch(w, want[2:], got[2:])
		}
		require.ElementsMatch(w, w.ids["x"], w.ids["y"], "ids are the same for all receivers")
		w.minute()
		require.Empty(w, w.received("x"))
	})
}

func TestNextNotifierKnowsWhatWasSent(t *testing.T) {
	inWorld(t, func(w *world) {
		w.job("a")
		w.replica()
		_, stop := w.start(w.store, to("x"))
		w.minute("a")
		require.Equal(w, []string{"a failed<ok"}, w.received("x"))
		stop()
		w.minute()
		w.minute("a") // nobody has seen that it was in order
		w.start(w.store, to("x", "new"))
		w.minute("a")
		require.Equal(w, []string{"a ok<failed", "a failed<ok"}, w.received("x"))
		require.Equal(w, []string{"a failed<ok"}, w.received("new"), "the settlements since it exists")
	})
}

func TestJobsFailAsOftenAsTheirOptionSays(t *testing.T) {
	inWorld(t, func(w *world) {
		w.job("a")
		w.job("flaps")
		w.replica()
		w.start(w.store, to("x"), WithAfter(func(job string) int { return map[string]int{"flaps": 2}[job] }))
		for range 3 {
			w.minute("a", "flaps")
			w.minute("a")
		}
		require.Equal(w, []string{"a failed<ok"}, w.received("x"))
		w.minute("a", "flaps")
		w.minute("a", "flaps")
		require.Equal(w, []string{"flaps failed<ok"}, w.received("x"))
	})
}

// The receiver has it, and the answer does not arrive.
func TestLostAnswerIsSentAgainUnderOneId(t *testing.T) {
	inWorld(t, func(w *world) {
		w.job("a")
		w.replica()
		lost := 3
		w.answers("x", func(*http.Request, string) (*http.Response, error) {
			if lost--; lost >= 0 {
				return nil, errors.New("connection reset")
			}
			return status(http.StatusNoContent), nil
		})
		n, _ := w.start(w.store, to("x"))
		w.minute("a")
		w.minute("a")
		require.Len(w, w.received("x"), 4)
		require.Len(w, slices.Compact(w.ids["x"]), 1)
		require.Equal(w, []State{{Receiver: "x", Sent: 1, Failures: 3}}, n.States())
	})
}

// The answer has arrived, and that of the store does not.
func TestLostReplyOfTheStoreSendsNothingAgain(t *testing.T) {
	inWorld(t, func(w *world) {
		w.job("a")
		w.replica()
		w.start(&forgetful{Store: w.store}, to("x"))
		w.minute("a")
		w.minute("a")
		w.minute()
		require.Equal(w, []string{"a failed<ok", "a ok<failed"}, w.received("x"))
	})
}

// forgetful answers every first change of a progress with an error, after it was made.
type forgetful struct {
	*memlease.Store
	calls atomic.Int32
}

func (f *forgetful) SetProgress(ctx context.Context, p protocol.Progress) (protocol.Progress, bool, error) {
	present, done, err := f.Store.SetProgress(ctx, p)
	if f.calls.Add(1)%2 == 1 {
		return protocol.Progress{}, false, errors.New("the reply was lost")
	}
	return present, done, err
}

func TestSlowReceiverHoldsUpNobody(t *testing.T) {
	inWorld(t, func(w *world) {
		w.job("a")
		w.replica()
		w.answers("slow", func(r *http.Request, _ string) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		n, _ := w.start(w.store, to("slow", "x"))
		began := time.Now()
		w.minute("a")
		w.minute()
		require.Equal(w, []string{"a failed<ok", "a ok<failed"}, w.received("x"))
		require.Less(w, w.at["x"][0].Sub(began), time.Minute+6*time.Second)
		s := n.States()[0]
		require.Equal(w, 1, s.Waiting)
		require.Contains(w, s.Error, "slow: context deadline exceeded")
		require.WithinDuration(w, began.Add(time.Minute), s.Since, 40*time.Second)
		report, err := Inspect(w.Context(), w.store)
		require.NoError(w, err)
		require.Equal(w, "r", report.By)
		require.Equal(w, []Waiting{{"slow", 1, report.Waiting[0].Since, s.Error}}, report.Waiting)

		w.answers("slow", nil)
		w.minute()
		w.minute()
		w.minute()
		require.Equal(w, "a ok<failed", w.received("slow")[len(w.ids["slow"])-1])
		require.Zero(w, n.States()[0].Waiting)
	})
}

func TestReceiverThatIsAwayIsAskedLessAndLess(t *testing.T) {
	inWorld(t, func(w *world) {
		var fail []string
		for i := range 10 {
			fail = append(fail, fmt.Sprint("j", i))
			w.job(fail[i])
		}
		w.replica()
		w.answers("x", func(*http.Request, string) (*http.Response, error) { return status(http.StatusBadGateway), nil })
		n, _ := w.start(w.store, to("x"))
		for range 30 {
			w.minute(fail...)
		}
		require.Equal(w, 10, n.States()[0].Waiting)
		require.Less(w, len(w.received("x")), 25, "tries in half an hour, of 10 jobs")
		w.answers("x", nil)
		for range 8 {
			w.minute(fail...)
		}
		require.Len(w, w.received("x"), 10)
		require.Zero(w, n.States()[0].Waiting)
	})
}

func TestRefusedNotificationLetsOthersPass(t *testing.T) {
	inWorld(t, func(w *world) {
		w.job("a")
		w.job("b")
		w.replica()
		w.answers("x", func(_ *http.Request, job string) (*http.Response, error) {
			if job == "a" {
				return status(http.StatusUnprocessableEntity), nil
			}
			return status(http.StatusOK), nil
		})
		w.start(w.store, to("x"))
		w.minute("a")
		w.minute("a", "b")
		require.Contains(w, w.received("x"), "b failed<ok")
	})
}

func TestReceiverIsGivenTheTimeItAsksFor(t *testing.T) {
	inWorld(t, func(w *world) {
		w.job("a")
		w.replica()
		w.answers("x", func(*http.Request, string) (*http.Response, error) {
			busy := status(http.StatusTooManyRequests)
			busy.Header.Set("Retry-After", "1200")
			return busy, nil
		})
		w.start(w.store, to("x"))
		for range 30 {
			w.minute("a")
		}
		require.Len(w, w.received("x"), 2)
		require.GreaterOrEqual(w, w.at["x"][1].Sub(w.at["x"][0]), 20*time.Minute)
	})
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	inWorld(t, func(w *world) {
		w.job("a")
		w.replica()
		w.answers("x", func(*http.Request, string) (*http.Response, error) {
			moved := status(http.StatusPermanentRedirect)
			moved.Header.Set("Location", "http://evil/")
			return moved, nil
		})
		n, _ := w.start(w.store, to("x"))
		w.minute("a")
		w.minute("a")
		require.NotEmpty(w, w.received("x"))
		require.Empty(w, w.received("evil"))
		require.Equal(w, "x: status 308 (redirects are not followed; use the URL that it leads to)", n.States()[0].Error)
	})
}

func TestSecretsAreNotInTheLog(t *testing.T) {
	inWorld(t, func(w *world) {
		w.job("a")
		w.replica()
		w.answers("x", func(*http.Request, string) (*http.Response, error) { return nil, errors.New("no route") })
		n, _ := w.start(w.store, append(to("x"), Receiver{Name: "file", URLFile: "/nowhere"}))
		w.minute("a")
		w.minute("a")
		require.Contains(w, w.log.String(), `error="x: no route"`)
		require.Contains(w, w.log.String(), "url_file: open /nowhere")
		require.NotContains(w, w.log.String(), "hunter2")
		require.NotContains(w, fmt.Sprintf("%+v", n.States()), "hunter2")
		kept, err := w.store.Progress(w.Context(), []string{"", "a"})
		require.NoError(w, err)
		require.NotContains(w, string(kept[0].Data)+string(kept[1].Data), "hunter2")
	})
}

func TestStatesMustLastToBeSent(t *testing.T) {
	inWorld(t, func(w *world) {
		w.job("a")
		stop := w.replica()
		w.start(w.store, to("x"))
		w.minute()
		stop()
		time.Sleep(20 * time.Second)
		stop = w.replica()
		w.minute()
		require.Empty(w, w.received("x"), "it was unserved for 20 s")
		stop()
		w.minute()
		require.Equal(w, []string{"a unserved<ok"}, w.received("x"))
		w.replica()
		w.minute()
		require.Equal(w, []string{"a ok<unserved"}, w.received("x"))
	})
}

func TestPausedJobsAreNotOverdue(t *testing.T) {
	now := time.Now()
	late := fleet.JobStatus{Name: "a", Given: true, Overdue: now.Add(-time.Hour)}
	for name, test := range map[string]struct {
		change func(*fleet.JobStatus)
		want   bool
	}{
		"overdue":           {func(*fleet.JobStatus) {}, true},
		"paused":            {func(s *fleet.JobStatus) { s.Paused = &fleet.Pause{} }, false},
		"paused by file":    {func(s *fleet.JobStatus) { s.Spec.Paused = true }, false},
		"of another file":   {func(s *fleet.JobStatus) { s.Given = false }, false},
		"in order":          {func(s *fleet.JobStatus) { s.Overdue = time.Time{} }, false},
		"unserved, besides": {func(s *fleet.JobStatus) { s.Unserved = true }, false},
	} {
		j, k := late, new(known)
		test.change(&j)
		require.Nil(t, k.found(j, time.Minute, now, now).overdue, name)
		require.Nil(t, k.found(j, time.Minute, now, now.Add(59*time.Second)).overdue, name)
		require.Equal(t, test.want, k.found(j, time.Minute, now, now.Add(time.Minute)).overdue != nil, name)
	}
}

// Two were elected, as it seems to each: the value of the store decides.
func TestStaleNotifierOverwritesNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		w.job("a")
		w.replica()
		w.minute("a")
		terms := make([]*term, 2)
		for i := range terms {
			n, err := New(w.store, to("x"), WithJobs(func() []*jobs.Job { return w.jobs }))
			require.NoError(w, err)
			terms[i] = newTerm(n)
			require.True(w, terms[i].begin(w.Context()))
			status, err := n.fleet.Status(w.Context(), w.jobs)
			require.NoError(w, err)
			require.NoError(w, terms[i].learn(w.Context(), status.Jobs))
		}
		newer := reached{Outcome: string(Failed), Settled: 2, Tick: 2}
		done, err := terms[0].commit(w.Context(), 0, "a", newer)
		require.NoError(w, err)
		require.True(w, done)
		done, err = terms[1].commit(w.Context(), 0, "a", reached{Outcome: string(Lost), Settled: 1, Tick: 1})
		require.NoError(w, err)
		require.False(w, done)
		require.Equal(w, newer, terms[1].known["a"].reached["x"], "it has learned what the other has sent")
	})
}

func TestNewReportsEveryFault(t *testing.T) {
	_, err := New(nil, []Receiver{{Name: "a"}}, nil, WithInterval(0), WithConfirm(-1), WithTTL(time.Millisecond), WithLogger(nil))
	for _, want := range []string{
		"options[0]: nil", "interval:", "confirm:", "ttl:", "none may be nil", "receivers[0].url", "store: nil",
	} {
		require.ErrorContains(t, err, want)
	}
}

func TestBodiesOfBotsSayWhetherTheyTookIt(t *testing.T) {
	for _, test := range []struct {
		kind   Kind
		answer string
		want   string
	}{
		{DingTalk, `{"errcode":0,"errmsg":"ok"}`, ""},
		{DingTalk, `{"errcode":310000,"errmsg":"sign not match"}`, "code 310000: sign not match"},
		{WeCom, `{"errcode":93000,"errmsg":"invalid webhook url"}`, "code 93000: invalid webhook url"},
		{Feishu, `{"StatusCode":0,"StatusMessage":"success","code":0,"msg":"success"}`, ""},
		{Feishu, `{"code":19021,"msg":"sign match fail\nor timestamp"}`, "code 19021: sign match fail or timestamp"},
		{Feishu, `<html>`, "answers with something that is no JSON"},
		{Feishu, `{}`, "answers without a code"},
		{Slack, `ok`, ""},
	} {
		r := refused(test.kind, &http.Response{StatusCode: http.StatusOK}, []byte(test.answer))
		if test.want == "" {
			require.Nil(t, r, test.answer)
			continue
		}
		require.Equal(t, test.want, r.text)
		require.False(t, r.alone)
	}
}
