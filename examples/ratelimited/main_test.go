package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/redislease"
	"github.com/solotick/solotick/limit"
)

func TestReplicasShareEachUsersLimit(t *testing.T) {
	server := redistest.Start(t)
	var replicas []http.Handler
	for range 2 {
		client := redis.NewClient(&redis.Options{Addr: server.Addr()})
		store, err := redislease.New(client, "test")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, store.Close()); require.NoError(t, client.Close()) })
		replicas = append(replicas, newAPI(limit.New(store)).routes())
	}
	ask := func(i int, user string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		replicas[i%len(replicas)].ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/users/"+user+"/code", nil))
		return w
	}
	for i := range 5 {
		require.Equal(t, http.StatusOK, ask(i, "ann").Code, "request %d", i+1)
	}
	refused := ask(5, "ann")
	require.Equal(t, http.StatusTooManyRequests, refused.Code)
	require.NotEmpty(t, refused.Header().Get("Retry-After"))
	require.Equal(t, http.StatusOK, ask(6, "björn").Code, "others are not limited by her")

	server.Freeze()
	require.Equal(t, http.StatusServiceUnavailable, ask(0, "cleo").Code)
}
