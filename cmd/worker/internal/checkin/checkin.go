// Package checkin reports the runs of a job to monitors of cron jobs: to Healthchecks and to
// Sentry.
//
//	when                                          the report
//	an attempt begins                             started
//	the handler returned nil                      succeeded, before the tick is settled
//	its last attempt failed, or it was cancelled  failed, before the tick is settled
//	an attempt failed, and another follows        nothing more
//	the lease was lost, the replica stops         nothing more: who takes the tick over reports
//
// A run is known there by an id that is made from the tick, so that all attempts and takeovers of a
// tick are one run. The end is reported under the lease. A process that is killed before its report
// arrived has not settled the tick either, so another replica runs it again, and reports. The same
// report can come twice; to the monitor it is one.
//
// A monitor that does not answer never fails a run. It delays the run's end by at most 9 s.
package checkin

import (
	"context"
	"crypto/sha1" //nolint:gosec // what RFC 9562 says of UUIDs made from names
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/sleep"
	"github.com/solotick/solotick/jobs"
)

// The limits of one request, and of the tries to report how a run ended.
const (
	requestTimeout = 3 * time.Second
	reportTimeout  = 6 * time.Second
	firstWait      = 500 * time.Millisecond
)

// state is what a report says.
type state int

const (
	none state = iota
	started
	succeeded
	failed
)

// Around returns handler with the reports that n asks for; the handler itself when there are none.
// policy is the job's.
func Around(handler jobs.Handler, n config.Notify, policy jobs.Retry, logger *slog.Logger) jobs.Handler {
	if n.After = 0; n == (config.Notify{}) || handler == nil { // there is no monitor
		return handler
	}
	r := &reporter{
		notify: n, attempts: policy.MaxAttempts, logger: logger,
		client: &http.Client{Timeout: requestTimeout},
	}
	return func(ctx context.Context, run jobs.Run) error {
		begun := make(chan struct{})
		go func() { // the run does not wait for it to begin, only to end: reports arrive in order
			defer close(begun)
			r.report(context.WithoutCancel(ctx), run, started, 1)
		}()
		err := handler(ctx, run)
		<-begun
		if s := r.ended(ctx, run, err); s != none {
			limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTimeout)
			defer cancel()
			r.report(limited, run, s, 10)
		}
		return err
	}
}

// RunID is the id of a tick's run: a UUID of version 5, the same on every replica and for each
// attempt.
func RunID(run jobs.Run) string {
	sum := sha1.Sum([]byte("solotick:" + run.TickID())) //nolint:gosec // see above
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x50, id[8]&0x3f|0x80
	text := hex.EncodeToString(id)
	return fmt.Sprintf("%s-%s-%s-%s-%s", text[:8], text[8:12], text[12:16], text[16:20], text[20:])
}

type reporter struct {
	notify   config.Notify
	attempts int
	logger   *slog.Logger
	client   *http.Client
}

// ended returns the state to report for an attempt that has returned.
func (r *reporter) ended(ctx context.Context, run jobs.Run, err error) state {
	cause := context.Cause(ctx)
	_, timeout := errors.AsType[*jobs.TimeoutError](cause)
	_, permanent := errors.AsType[*jobs.PermanentError](err)
	switch {
	case !run.Lease.Valid(), errors.Is(err, jobs.ErrLeaseEnding):
		return none
	case errors.Is(cause, protocol.ErrCancelled):
		return failed
	case err == nil:
		return succeeded
	case cause != nil && !timeout: // it was replaced, or the replica stops
		return none
	case run.Attempt >= r.attempts, permanent:
		return failed
	default:
		return none
	}
}

// report sends a report to every monitor, until each has answered, tries are used up, or ctx ends.
// One that hangs does not hold up the others.
func (r *reporter) report(ctx context.Context, run jobs.Run, s state, tries int) {
	var all sync.WaitGroup
	defer all.Wait()
	for monitor, address := range r.addresses(run, s) {
		all.Go(func() { r.reportTo(ctx, monitor, address, run, tries) })
	}
}

func (r *reporter) reportTo(ctx context.Context, monitor string, address *url.URL, run jobs.Run, tries int) {
	for try := 1; ; try++ {
		again, err := r.send(ctx, address)
		if err == nil {
			return
		}
		if !again || try == tries || !sleep.For(ctx, sleep.Backoff(try-1, firstWait, time.Minute)) {
			r.logger.Warn("check-in failed", slog.String("job", run.Job), slog.String("monitor", monitor),
				slog.Time("tick", run.Tick), slog.String("error", err.Error()))
			return
		}
	}
}

// addresses returns where a report goes, by monitor.
func (r *reporter) addresses(run jobs.Run, s state) map[string]*url.URL {
	to := map[string]*url.URL{}
	if u, err := url.Parse(r.notify.Healthchecks.Reveal()); err == nil && u.Host != "" {
		switch s {
		case started:
			u = u.JoinPath("start")
		case failed:
			u = u.JoinPath("fail")
		default:
		}
		to["healthchecks"] = with(u, "rid", RunID(run))
	}
	if u, err := url.Parse(r.notify.Sentry.Reveal()); err == nil && u.Host != "" {
		status := map[state]string{started: "in_progress", succeeded: "ok", failed: "error"}[s]
		to["sentry"] = with(with(u, "check_in_id", RunID(run)), "status", status)
	}
	return to
}

func with(u *url.URL, key, value string) *url.URL {
	query := u.Query()
	query.Set(key, value)
	u.RawQuery = query.Encode()
	return u
}

// send makes one request. Its error names no more of the address than the host, since the rest is a
// credential; again says that another try may succeed.
func (r *reporter) send(ctx context.Context, to *url.URL) (again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), http.NoBody)
	if err != nil {
		return false, fmt.Errorf("%s: not an address", to.Host)
	}
	response, err := r.client.Do(request)
	if err != nil {
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err
		}
		return true, fmt.Errorf("%s: %w", to.Host, err)
	}
	_ = response.Body.Close()
	switch code := response.StatusCode; {
	case code >= 200 && code < 300:
		return false, nil
	case code == http.StatusTooManyRequests, code == http.StatusRequestTimeout, code >= 500:
		return true, fmt.Errorf("%s: status %d", to.Host, code)
	default:
		return false, fmt.Errorf("%s: status %d", to.Host, code)
	}
}
