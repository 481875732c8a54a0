package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/scheduler"
)

func TestAStopLetsTheRunFinish(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr()})
	defer func() { require.NoError(t, client.Close()) }()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	began := make(chan struct{}, 100)
	watch := scheduler.WithObserver(func(e scheduler.Event) {
		if _, ok := e.(scheduler.RunStarted); ok {
			began <- struct{}{}
		}
	})
	s := &service{scheduler: solotick.New(client, "test", solotick.WithScheduler(watch)), work: 200 * time.Millisecond}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.serve(ctx, listener) }()

	url := "http://" + listener.Addr().String()
	require.Eventually(t, func() bool { return get(t, url+"/readyz") == "ok\n" }, time.Minute, 20*time.Millisecond)
	require.Contains(t, get(t, url+"/report"), "no report")
	_, err = s.scheduler.Trigger(t.Context(), "report", "test")
	require.NoError(t, err)
	<-began
	stop()
	require.NoError(t, <-ended)
	require.NotNil(t, s.report.Load(), "the run that was under way has finished")
	require.True(t, s.stopping.Load())
}

func get(t *testing.T, url string) string {
	response, err := http.Get(url)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(body)
}
