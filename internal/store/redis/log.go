package redis

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogTo sends the Redis client's log messages to logger. It applies to the whole process.
func LogTo(logger *slog.Logger) { redis.SetLogger(clientLog{logger}) }

type clientLog struct{ logger *slog.Logger }

// Printf logs one message of the client.
func (l clientLog) Printf(ctx context.Context, format string, args ...any) {
	l.logger.WarnContext(ctx, "redis client", "message", fmt.Sprintf(format, args...))
}
