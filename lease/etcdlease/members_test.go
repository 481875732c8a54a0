package etcdlease_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/lease/etcdlease"
)

// Two of three members answer late, and the one whose clock is wrong at once.
func TestOneWrongClockIsNotTheFirstTime(t *testing.T) {
	t.Parallel()
	right := make(chan struct{})
	var once sync.Once
	member := func(ahead time.Duration) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if ahead == 0 {
				<-right
			} else {
				time.AfterFunc(100*time.Millisecond, func() { once.Do(func() { close(right) }) }) // the wrong answer has come long before
			}
			w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	now, err := etcdlease.FirstTime(t.Context(), member(time.Hour), member(0), member(0))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), now, time.Minute)
}

// A config may name one member twice, or one that is gone.
func TestOneMemberThatAnswersIsEnough(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	there := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(there.Close)
	now, err := etcdlease.FirstTime(t.Context(), there.URL, gone.URL)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), now, time.Minute)
}
