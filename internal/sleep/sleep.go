// Package sleep waits as time.Sleep does, and no longer than a context lasts.
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
