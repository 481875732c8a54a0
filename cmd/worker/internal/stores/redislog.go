package stores

import (
	"context"
	"fmt"
	"log/slog"
)

// redisLog takes what go-redis has to say about its connections. Errors come back to the callers as well, so it is
// worth reading when looking for something only.
type redisLog struct{ logger *slog.Logger }

// Printf implements the interface that go-redis wants of a logger.
func (l redisLog) Printf(ctx context.Context, format string, args ...any) {
	if l.logger.Enabled(ctx, slog.LevelDebug) {
		l.logger.DebugContext(ctx, "redis client", slog.String("text", fmt.Sprintf(format, args...)))
	}
}
