package lane_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/lane"
)

type (
	echo = lane.Lane[string, string]
	call = lane.Call[string, string]
)

// answering returns what answers each call with its request, and the batches that it got.
func answering() (send func(batch []*call) error, sent *[][]string) {
	sent = new([][]string)
	return func(batch []*call) error {
		var requests []string
		for _, c := range batch {
			c.Answer = c.Request
			requests = append(requests, c.Request)
		}
		*sent = append(*sent, requests)
		return nil
	}, sent
}

// held has a lane wait in its first batch until it is released.
func held(t *testing.T, l *echo) (release func()) {
	t.Helper()
	answered, send := make(chan struct{}), l.Send
	l.Send = func(batch []*call) error {
		if batch[0].Request == "slow" {
			<-answered
			return nil
		}
		return send(batch)
	}
	go func() { _, _ = l.Do(t.Context(), "slow") }()
	synctest.Wait()
	return func() { close(answered) }
}

// While a server does not answer, calls come faster than they fail. They are not kept, to be made
// minutes later when nobody waits for them.
func TestNothingIsSentWhenNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		send, sent := answering()
		l := &echo{AtOnce: 1, Send: send}
		release := held(t, l)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = l.Do(ctx, "given up") }()
		synctest.Wait()
		cancel()
		go func() { _, _ = l.Do(t.Context(), "waiting") }()
		synctest.Wait()
		release()
		l.Close()
		require.Equal(t, [][]string{{"waiting"}}, *sent)
		_, err := l.Do(t.Context(), "late")
		require.ErrorIs(t, err, lane.ErrClosed)
	})
}

func TestCallsOfOneInstantShareABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		send, sent := answering()
		l := &echo{AtOnce: 1, Send: send, Fits: func(batch []*call, next *call) bool { return batch[0].Request == next.Request }}
		release := held(t, l)
		for range lane.Most + 1 {
			go func() { _, _ = l.Do(t.Context(), "a") }()
		}
		synctest.Wait()
		go func() { _, _ = l.Do(t.Context(), "b") }()
		synctest.Wait()
		release()
		l.Close()
		require.Len(t, *sent, 3)
		require.Len(t, (*sent)[0], lane.Most)
		require.Equal(t, [][]string{{"a"}, {"b"}}, (*sent)[1:], "what does not fit keeps its place")
	})
}

func TestFailedCallHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := errors.New("failed")
		l := &echo{AtOnce: 1, Split: true, Send: func(batch []*call) error {
			for _, c := range batch {
				if c.Answer = c.Request; c.Request == "bad" {
					return failed
				}
			}
			return nil
		}}
		release := held(t, l)
		errs := make(map[string]chan error)
		for _, request := range []string{"good", "bad", "fine"} {
			errs[request] = make(chan error, 1)
			go func() {
				_, err := l.Do(t.Context(), request)
				errs[request] <- err
			}()
		}
		synctest.Wait()
		release()
		require.NoError(t, <-errs["good"])
		require.ErrorIs(t, <-errs["bad"], failed)
		require.NoError(t, <-errs["fine"])
		l.Close()
	})
}

// A batch that has to wait is joined by calls that come meanwhile, and left by those that nobody
// waits for.
func TestBatchThatIsSentAgainIsFilledUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		send, sent := answering()
		busy := make(chan struct{})
		l := &echo{AtOnce: 1, Send: func(batch []*call) error {
			if _, locked := <-busy; locked {
				return lane.ErrAgain
			}
			return send(batch)
		}}
		ctx, cancel := context.WithCancel(t.Context())
		for _, request := range []string{"first", "given up"} {
			go func() {
				if request == "first" {
					_, _ = l.Do(t.Context(), request)
				} else {
					_, _ = l.Do(ctx, request)
				}
			}()
			synctest.Wait()
			busy <- struct{}{}
		}
		synctest.Wait()
		cancel()
		go func() { _, _ = l.Do(t.Context(), "joins") }()
		synctest.Wait()
		busy <- struct{}{}
		close(busy)
		l.Close()
		require.Equal(t, [][]string{{"first", "joins"}}, *sent)
	})
}
