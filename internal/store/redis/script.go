package redis

import (
	"context"
	"embed"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/internal/store"
)

//go:embed lua/*.lua
var lua embed.FS

// The scripts, each with those it builds on.
var (
	commitScript  = script("task", "commit")
	claimScript   = script("task", "claim")
	renewScript   = script("task", "renew")
	releaseScript = script("task", "release")
	voidScript    = script("task", "void")
	overdueScript = script("task", "overdue")
	nextDueScript = script("task", "next_due")
	putScript     = script("history", "put")

	readingsScript = script("readings")
	latestScript   = script("latest")
	sizesScript    = script("sizes")
	listScript     = script("list")
	eventsScript   = script("events")
	cursorScript   = script("cursor")

	beatScript    = script("beat")
	receiveScript = script("group", "receive")
	pendingScript = script("group", "pending")
	doneScript    = script("group", "done")
	backlogScript = script("group", "backlog")

	trimChangesScript = script("group", "trim_changes")
	trimEventsScript  = script("trim_events")
	trimToldScript    = script("trim_told")
	trimEndedScript   = script("trim_ended")
	trimFindScript    = script("history", "trim_find")
	trimWritesScript  = script("history", "trim_writes")
)

func script(names ...string) *redis.Script {
	var text strings.Builder
	for _, name := range append([]string{"common"}, names...) {
		part, err := lua.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err) // the file is part of the program
		}
		text.Write(part)
	}
	return redis.NewScript(text.String())
}

// arguments are what a script takes, one after the other.
type arguments []any

func (a *arguments) add(texts ...string) {
	for _, text := range texts {
		*a = append(*a, text)
	}
}

func (a *arguments) number(n int) { *a = append(*a, strconv.Itoa(n)) }

// run runs a script by its hash; Redis is given the text only if it has forgotten it. That one was never run by Redis, so it is
// no second time.
func (s *Store) run(ctx context.Context, script *redis.Script, a arguments) (any, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	got, err := script.Run(ctx, s.client, nil, append([]any{s.prefix, s.data}, a...)...).Result()
	if isNothing(err) {
		return nil, nil // the script had nothing to say
	}
	if ended := over(ctx); err != nil && ended != nil {
		return nil, fmt.Errorf("%w: %w", ended, err)
	}
	return got, s.fault(err)
}

// over is why ctx has ended; nil if it has not. A connection has the deadline of the context, and may notice a moment before it.
func over(ctx context.Context) error {
	if at, limited := ctx.Deadline(); limited && ctx.Err() == nil && !time.Now().Before(at) {
		return context.DeadlineExceeded
	}
	return ctx.Err()
}

// texts runs a script that answers with a list of texts.
func (s *Store) texts(ctx context.Context, script *redis.Script, a arguments) ([]string, error) {
	got, err := s.run(ctx, script, a)
	if err != nil || got == nil {
		return nil, err
	}
	return asTexts(got)
}

// amount runs a script that answers with a number.
func (s *Store) amount(ctx context.Context, script *redis.Script, a arguments) (int, error) {
	got, err := s.run(ctx, script, a)
	if err != nil {
		return 0, err
	}
	n, ok := got.(int64)
	if !ok {
		return 0, unexpected(got)
	}
	return int(n), nil
}

func asList(v any) ([]any, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, unexpected(v)
	}
	return list, nil
}

func asTexts(v any) ([]string, error) {
	list, err := asList(v)
	if err != nil {
		return nil, err
	}
	out := make([]string, len(list))
	for i, item := range list {
		text, ok := item.(string)
		if !ok {
			return nil, unexpected(item)
		}
		out[i] = text
	}
	return out, nil
}

func unexpected(v any) error { return fmt.Errorf("redis answered with an unexpected %T", v) }

// leaseholder writes what scripts compare leases with: the instant, for which nothing stands for Redis' own clock, and who asks.
// By a caller's clock nobody dies.
func (s *Store) leaseholder(a *arguments, now time.Time) {
	if s.o.CallersClock {
		a.add(store.Nanos(now), "")
	} else {
		a.add("", s.instance)
	}
}

// leaseEnd is when a lease ends, as an instant or as microseconds from now, whichever the clock wants.
func (s *Store) leaseEnd(now time.Time, lease time.Duration) (at, micros string) {
	if s.o.CallersClock {
		at = store.Nanos(now.Add(lease))
	}
	return at, strconv.FormatInt(lease.Microseconds(), 10)
}
