package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/memlease"
)

// shared has the table that both replicas see, and the lines that they print.
type shared struct {
	mu   sync.Mutex
	rows map[string]tenant
	text bytes.Buffer
}

func (s *shared) put(_ context.Context, name string, t tenant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows[name] = t
	return nil
}

func (s *shared) remove(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows, name)
	return nil
}

func (s *shared) all(context.Context) (map[string]tenant, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.rows), nil
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shared) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Count(s.text.Bytes(), []byte(text))
}

// ask makes a request of the service.
func (s *service) ask(method, name, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.routes().ServeHTTP(w, httptest.NewRequest(method, "/tenants/"+url.PathEscape(name), strings.NewReader(body)))
	return w
}

func TestTenantsComeChangeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		store, all := new(memlease.Store), &shared{rows: map[string]tenant{}}
		var replicas sync.WaitGroup
		var s *service
		for range 2 {
			replica, err := newService(solotick.On(store), all, all)
			require.NoError(t, err)
			replicas.Go(func() { require.NoError(t, replica.scheduler.Run(ctx)) })
			s = replica
		}
		time.Sleep(10500 * time.Millisecond) // until both know of each other
		for _, name := range []string{"acme", "Üb & Söhne"} {
			w := s.ask("PUT", name, `{"cron": "*/10 * * * * *", "format": "pdf"}`)
			require.Equal(t, "next report: 2000-01-01T00:00:20Z\n", w.Body.String())
		}
		time.Sleep(time.Minute)
		require.Equal(t, 6, all.count("for acme as pdf"), "once each, on two replicas: %s", &all.text)
		require.Equal(t, 6, all.count("for Üb & Söhne as pdf"))

		w := s.ask("PUT", "acme", `{"cron": "*/10 * * *", "timezone": "Mars/Base"}`)
		require.Equal(t, http.StatusBadRequest, w.Code)
		require.Contains(t, w.Body.String(), "cron: ")
		require.Contains(t, w.Body.String(), "timezone: ")
		require.Equal(t, http.StatusOK, s.ask("PUT", "acme", `{"cron": "*/20 * * * * *", "format": "csv"}`).Code)
		require.Equal(t, http.StatusOK, s.ask("DELETE", "Üb & Söhne", "").Code)
		time.Sleep(time.Minute)
		require.Equal(t, 6, all.count("for acme as pdf"))
		require.Equal(t, 3, all.count("for acme as csv"))
		require.Equal(t, 6, all.count("for Üb & Söhne"), "none after it has left")

		// Somebody has changed the table, and died before the schedules were changed.
		require.NoError(t, errors.Join(all.remove(ctx, "acme"), all.put(ctx, "umbrella", tenant{Cron: "*/10 * * * * *", Format: "txt"})))
		time.Sleep(2 * time.Minute)
		csv := all.count("for acme as csv")
		require.LessOrEqual(t, csv, 7)
		require.GreaterOrEqual(t, all.count("for umbrella as txt"), 6)
		time.Sleep(time.Minute)
		require.Equal(t, csv, all.count("for acme as csv"))
		stop()
		replicas.Wait()
	})
}

func TestTheTableInRedisKeepsTenants(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: redistest.Start(t).Addr()})
	defer func() { require.NoError(t, client.Close()) }()
	rows, acme := inRedis{client}, tenant{Cron: "@daily", Timezone: "Asia/Shanghai", Format: "pdf"}
	require.NoError(t, errors.Join(rows.put(t.Context(), "acme", acme), rows.put(t.Context(), "gone", acme), rows.remove(t.Context(), "gone")))
	all, err := rows.all(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]tenant{"acme": acme}, all)
}
