package redis

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogTo sends what the Redis client logs to logger. It holds for the whole process.
func LogTo(logger *slog.Logger) { redis.SetLogger(clientLog{logger}) }

type clientLog struct{ logger *slog.Logger }

// Printf logs one message of the client.
func (l clientLog) Printf(ctx context.Context, format string, args ...any) {
	l.logger.WarnContext(ctx, "redis client", "message", fmt.Sprintf(format, args...))
}
