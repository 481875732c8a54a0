package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick"
	"github.com/solotick/solotick/internal/dbtest"
	"github.com/solotick/solotick/internal/redistest"
	"github.com/solotick/solotick/lease/memlease"
	"github.com/solotick/solotick/schedules"
)

// shared has the table that both replicas see, and the lines that they print.
type shared struct {
	mu   sync.Mutex
	rows map[string]tenant
	text bytes.Buffer
}

func (s *shared) change(_ context.Context, reports *schedules.Schedules, name string, t *tenant, then func(*schedules.Schedules) error) error {
	s.mu.Lock()
	if t == nil {
		delete(s.rows, name)
	} else {
		s.rows[name] = *t
	}
	s.mu.Unlock()
	return then(reports)
}

func died(*schedules.Schedules) error { return nil }

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
		umbrella := &tenant{Cron: "*/10 * * * * *", Format: "txt"}
		require.NoError(t, errors.Join(all.change(ctx, nil, "acme", nil, died), all.change(ctx, nil, "umbrella", umbrella, died)))
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
	for name, row := range map[string]*tenant{"acme": &acme, "gone": nil} {
		require.NoError(t, errors.Join(rows.change(t.Context(), nil, name, &acme, died), rows.change(t.Context(), nil, name, row, died)))
	}
	all, err := rows.all(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]tenant{"acme": acme}, all)
}

// No reconciliation is needed: what a request changes is there as a whole, or not at all.
func TestPostgreSQLTakesRowAndScheduleTogether(t *testing.T) {
	server, err := dbtest.Postgres(func(ctx context.Context, dir string) error {
		db, err := sql.Open("pgx", dbtest.PostgresDSN(dir))
		if err != nil {
			return err
		}
		return errors.Join(db.PingContext(ctx), db.Close())
	})
	require.NoError(t, err)
	t.Cleanup(dbtest.StopAll)
	scheduler, tenants, err := open(t.Context(), dbtest.PostgresDSN(server.Dir), "")
	require.NoError(t, err)
	s, err := newService(scheduler, tenants, new(bytes.Buffer))
	require.NoError(t, err)
	here := func() (list []string) {
		rows, err := tenants.all(t.Context())
		require.NoError(t, err)
		page, err := s.reports.List(t.Context(), "", "", 100)
		require.NoError(t, err)
		require.Len(t, page.Schedules, len(rows))
		for _, row := range page.Schedules {
			require.Equal(t, rows[row.Key].Cron, row.Cron)
		}
		return slices.Sorted(maps.Keys(rows))
	}
	for _, name := range []string{"acme", "umbrella", "acme"} {
		require.Equal(t, http.StatusOK, s.ask("PUT", name, `{"cron": "@daily", "format": "pdf"}`).Code)
	}
	require.Equal(t, []string{"acme", "umbrella"}, here())
	require.Equal(t, http.StatusOK, s.ask("DELETE", "umbrella", "").Code)
	require.Equal(t, []string{"acme"}, here())

	lost := errors.New("lost")
	err = tenants.change(t.Context(), s.reports, "initech", &tenant{Cron: "@hourly"}, func(reports *schedules.Schedules) error {
		_, err := reports.Put(t.Context(), scheduleOf("initech", tenant{Cron: "@hourly"}))
		return errors.Join(err, lost)
	})
	require.ErrorIs(t, err, lost)
	require.Equal(t, []string{"acme"}, here())
	require.NoError(t, tenants.(*inPostgres).store.Close())
	require.NoError(t, tenants.(*inPostgres).db.Close())
}
