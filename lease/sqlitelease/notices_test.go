package sqlitelease

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLooksAreFewWhereNobodyWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(file)
		looks := func(during time.Duration) (n int) {
			for began := time.Now(); time.Since(began) < during; n++ {
				time.Sleep(f.pause())
			}
			return n
		}
		require.Equal(t, 500, looks(10*time.Second))
		f.queued = time.Now() // as by a claim that waits
		require.LessOrEqual(t, looks(200*time.Millisecond), 10+25)
		require.Equal(t, 500, looks(10*time.Second))
	})
}

// Another process publishes at any moment, also while a subscriber looks: the log alone shows it.
func TestSubscriberFindsEveryNotice(t *testing.T) {
	t.Run("which the kernel announces", func(t *testing.T) { findsEveryNotice(t, func(*file) {}) })
	t.Run("which the log's time shows", func(t *testing.T) { findsEveryNotice(t, (*file).unwatch) })
	t.Run("which nothing shows", func(t *testing.T) { findsEveryNotice(t, func(f *file) { f.unwatch(); f.unsure = true }) })
}

func findsEveryNotice(t *testing.T, on func(*file)) {
	before := lookAnyway
	lookAnyway = time.Hour
	t.Cleanup(func() { lookAnyway = before })
	path := filepath.Join(t.TempDir(), "leases.db")
	here, err := New(path, "ns")
	require.NoError(t, err)
	defer func() { require.NoError(t, here.Close()) }()
	on(here.values.file)
	there, err := New(path, "ns")
	require.NoError(t, err)
	defer func() { require.NoError(t, there.Hasten().Close()) }()

	ctx, cancel := context.WithCancel(t.Context())
	received, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- here.values.Receive(ctx, func(message []byte) { received <- string(message) })
	}()
	require.Eventually(t, func() bool {
		require.NoError(t, there.values.Publish(ctx, []byte("first")))
		return len(received) > 0
	}, 10*time.Second, 50*time.Millisecond)
	for len(received) > 0 {
		<-received
		time.Sleep(4 * settledAfter) // until those are there that came before it looked first
	}
	for i := range 60 {
		time.Sleep(rand.N(3*rand.N(settledAfter) + 1))
		want := fmt.Sprint("message ", i)
		require.NoError(t, there.values.Publish(ctx, []byte(want)))
		select {
		case got := <-received:
			require.Equal(t, want, got)
		case <-time.After(10 * time.Second):
			require.Fail(t, "not received", want)
		}
	}
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

func TestIdleSubscriberReadsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	s, err := New(path, "ns")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.values.Publish(t.Context(), []byte("m")))
	time.Sleep(settledAfter + lookEvery)
	looked := s.values.file.log()
	require.True(t, looked.sameAs(s.values.file.log()))
	moment := logState{looked.info, looked.info.ModTime().Add(settledAfter / 2)}
	require.False(t, moment.sameAs(looked), "another commit of that moment may have the same time")
	w := &watcher{make(chan struct{}, 1), make(chan struct{}, 1)}
	s.values.file.add(w)
	defer s.values.file.remove(w)
	ctx, cancel := context.WithTimeout(t.Context(), lookAnyway/2)
	defer cancel()
	require.ErrorIs(t, s.values.file.await(ctx, looked, w), context.DeadlineExceeded, "nothing was committed")
	require.NoError(t, s.values.Publish(t.Context(), []byte("m")))
	require.False(t, looked.sameAs(s.values.file.log()))
	require.NoError(t, s.values.file.await(t.Context(), looked, w))
}
