package doctor

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/config"
	"github.com/solotick/solotick/internal/render"
	"github.com/solotick/solotick/notify"
)

// The times from which doctor warns and fails.
const (
	notifierSilent  = 2 * time.Minute // the elected replica reports every half minute
	undeliveredLong = 15 * time.Minute
)

// notified checks that somebody notifies the configured receivers, and that they take it. There is
// no finding without receivers.
func notified(ctx context.Context, s *stores.Store, cfg *config.Config) []Finding {
	n := len(cfg.Notifications.Receivers)
	if n == 0 {
		return nil
	}
	now, _, err := s.Time(ctx)
	var r notify.Report
	if err == nil {
		r, err = notify.Inspect(ctx, s.Store)
	}
	if err != nil {
		return []Finding{unchecked("notifications", err)}
	}
	return []Finding{notifiedFinding(Finding{Check: "notifications", Result: OK}, r, now, n)}
}

func notifiedFinding(f Finding, r notify.Report, now time.Time, receivers int) Finding {
	if r.At.IsZero() || now.Sub(r.At) > notifierSilent {
		f.Result, f.Finding = Fail, fmt.Sprintf("no replica sends notifications to the configured %s", render.Count(receivers, "receiver"))
		if !r.At.IsZero() {
			f.Finding += fmt.Sprintf("; the last was %s, at %s", cmp.Or(r.By, "one"), render.Time(r.At.Truncate(time.Second), time.UTC))
		}
		f.Change = "start replicas with this configuration, or look into their logs"
		return f
	}
	f.Finding = fmt.Sprintf("%s sends them to %s, and none waits", cmp.Or(r.By, "a replica"), render.Count(receivers, "receiver"))
	var late []string
	for _, w := range r.Waiting {
		waited := now.Sub(w.Since)
		switch {
		case waited > undeliveredLong:
			f.Result = Fail
		case f.Result == OK:
			f.Result = Warn
		}
		text := fmt.Sprintf("%s has not taken those of %s, for %s", w.Receiver, render.Count(w.Jobs, "job"), waited.Round(time.Second))
		if w.Error != "" {
			text += ": " + w.Error
		}
		late = append(late, text)
	}
	if len(late) > 0 {
		f.Finding = render.List(late)
		f.Change = "try it with worker notify test, and correct its URL or secret; what waits is sent then"
	}
	return f
}
