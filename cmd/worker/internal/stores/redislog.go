package stores

import (
	"context"
	"fmt"
	"log/slog"
)

// redisLog logs messages of go-redis about its connections. They are for debugging: callers get the
// errors as well.
type redisLog struct{ logger *slog.Logger }

// Printf implements the logger interface of go-redis.
func (l redisLog) Printf(ctx context.Context, format string, args ...any) {
	if l.logger.Enabled(ctx, slog.LevelDebug) {
		l.logger.DebugContext(ctx, "redis client", slog.String("text", fmt.Sprintf(format, args...)))
	}
}
