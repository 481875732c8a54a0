package console_test

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/console"
)

// examiner has two findings, and counts how often it is asked for them.
type examiner struct {
	asked atomic.Int64
	hold  chan struct{} // nil, or it answers once this is closed
}

func (e *examiner) examine(ctx context.Context) (console.Examination, error) {
	e.asked.Add(1)
	if e.hold != nil {
		select {
		case <-e.hold:
		case <-ctx.Done():
			return console.Examination{}, ctx.Err()
		}
	}
	return console.Examination{Store: "redis.example:6379", Findings: []console.Finding{
		{Check: "version", Result: "ok", Finding: "Redis 7.0.15"},
		{Check: "memory", Result: "fail", Finding: "it evicts records", Change: "set maxmemory-policy to noeviction"},
	}}, nil
}

func TestFleetPageHasFindingsOfOneExamination(t *testing.T) {
	e := new(examiner)
	s := newSite(t, console.WithExamination(e.examine))
	for _, path := range []string{"/", "/timeline", "/api/v1/jobs"} {
		require.Equal(t, http.StatusOK, s.get(path).StatusCode)
	}
	require.Zero(t, e.asked.Load(), "nobody has looked at the fleet")
	for range 20 {
		page := text(t, s.get("/fleet"))
		require.Contains(t, page, "set maxmemory-policy to noeviction")
		require.Contains(t, page, "redis.example:6379")
		require.Less(t, strings.Index(page, "evicts"), strings.Index(page, "7.0.15"), "faults are first")
	}
	store := s.decode(s.get("/api/v1/replicas"))["store"].(map[string]any)
	require.Equal(t, "error", store["findings"].([]any)[0].(map[string]any)["severity"])
	doctor := s.decode(s.get("/api/v1/doctor"))
	require.Equal(t, false, doctor["ok"])
	require.Len(t, doctor["checks"], 2)
	require.Equal(t, int64(1), e.asked.Load())

	require.Equal(t, http.StatusNotImplemented, newSite(t).get("/api/v1/doctor").StatusCode)
}

func TestSlowExaminationHoldsNoPageBack(t *testing.T) {
	e := &examiner{hold: make(chan struct{})}
	s := newSite(t, console.WithExamination(e.examine))
	require.Contains(t, text(t, s.get("/fleet")), "The first check is not done yet.")
	close(e.hold)
	require.Eventually(t, func() bool { return strings.Contains(text(t, s.get("/fleet")), "evicts") }, 30*time.Second, 10*time.Millisecond)
	require.Equal(t, int64(1), e.asked.Load())
}
