package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// look is how often one who waits for changes looks for those of consumers that are gone: nobody tells of these.
const look = time.Second

// Receive waits to be told, and looks again every now and then.
func (s *Store) Receive(ctx context.Context, group, consumer string, limit int) ([]store.Change, error) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		more := s.signals['c'].Next()
		changes, err := s.receive(ctx, group, consumer, store.PageSize(limit))
		if err != nil {
			return nil, fmt.Errorf("receive changes as %s of %s: %w", consumer, group, err)
		}
		if len(changes) > 0 {
			return changes, nil
		}
		select {
		case <-more:
		case <-tick.C:
		case <-s.closed:
			return nil, errClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (s *Store) receive(ctx context.Context, group, consumer string, limit int) ([]store.Change, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	who := consumerName(group, consumer)
	if s.held.doubts(who) {
		changes, err := s.given(ctx, pendingScript, group, consumer, maxPending)
		if err != nil {
			return nil, err
		}
		s.held.doubt(who, false)
		if unheard := s.held.take(group, changes); len(unheard) > 0 {
			return unheard, nil
		}
	}
	s.held.doubt(who, true) // until there is an answer
	changes, err := s.given(ctx, receiveScript, group, consumer, limit)
	if err != nil {
		return nil, err
	}
	s.held.doubt(who, false)
	return s.held.take(group, changes), nil
}

// given runs a script that answers with changes.
func (s *Store) given(ctx context.Context, script *redis.Script, group, consumer string, limit int) ([]store.Change, error) {
	var a arguments
	a.add(group, s.instance, consumer)
	a.number(limit)
	answer, err := s.run(ctx, script, a)
	if err != nil {
		return nil, err
	}
	entries, err := asList(answer)
	if err != nil {
		return nil, err
	}
	changes := make([]store.Change, 0, len(entries))
	for _, entry := range entries {
		c, err := asChange(entry)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// asChange reads an entry of the stream.
func asChange(entry any) (store.Change, error) {
	parts, err := asList(entry)
	if err != nil {
		return store.Change{}, err
	}
	id, named := parts[0].(string)
	said, err := asTexts(parts[1])
	if err != nil || !named {
		return store.Change{}, errors.Join(err, unexpected(parts[0]))
	}
	fields := map[string]string{}
	for i := 0; i+1 < len(said); i += 2 {
		fields[said[i]] = said[i+1]
	}
	c, err := changeOf(id, fields)
	if err != nil {
		return c, fmt.Errorf("read stored change %s: %w", id, err)
	}
	return c, nil
}

func changeOf(id string, fields map[string]string) (store.Change, error) {
	c := store.Change{
		Kind: store.ChangeKind(fields["kind"]), Pipeline: pipeline.ID(fields["pipeline"]), Sensor: sensor.Key(fields["sensor"]),
		Changed: fields["changed"] == "1", Status: run.Status(fields["status"]),
	}
	at, err := strconv.ParseInt(idNumber(id), 10, 64)
	if err != nil {
		return c, err
	}
	c.Position = store.Position(at)
	if c.At, err = store.FromNanos(fields["at"]); err != nil {
		return c, err
	}
	if c.Version, err = strconv.ParseInt(fields["version"], 10, 64); err != nil {
		return c, err
	}
	if c.Kind == store.RunMoved {
		if c.Attempt, err = strconv.Atoi(fields["attempt"]); err != nil {
			return c, err
		}
		c.Run, err = run.ParseKey(fields["run"])
		return c, err
	}
	return c, c.Period.UnmarshalText([]byte(fields["period"]))
}

// Done acknowledges: what a group was given and has not finished holds its place back by itself.
func (s *Store) Done(ctx context.Context, group string, changes []store.Change) error {
	changes = s.held.own(group, changes)
	var a arguments
	a.add(group)
	a.number(len(changes))
	for _, c := range changes {
		a.add(positionID(c.Position))
	}
	if _, err := s.run(ctx, doneScript, a); err != nil {
		return fmt.Errorf("finish changes of %s: %w", group, err)
	}
	s.held.drop(group, changes)
	return nil
}

// Backlog counts what is beyond the group's place and what it holds.
func (s *Store) Backlog(ctx context.Context, group string) (n int, oldest time.Time, err error) {
	var a arguments
	a.add(group)
	answer, err := s.run(ctx, backlogScript, a)
	if err != nil {
		return 0, oldest, fmt.Errorf("count backlog of %s: %w", group, err)
	}
	parts, err := asList(answer)
	if err != nil {
		return 0, oldest, fmt.Errorf("count backlog of %s: %w", group, err)
	}
	count, _ := parts[0].(int64)
	if at, _ := parts[1].(string); at != "" {
		oldest, err = store.FromNanos(at)
	}
	return int(count), oldest, err
}
