// Package sleep waits no longer than a context lasts, and says how long to wait before another try.
package sleep

import (
	"context"
	"time"
)

// For waits for d. It reports false when ctx ended before.
func For(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
