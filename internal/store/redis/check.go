package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// oldest is the first version of Redis with all features that the scripts use.
const oldest = 7

// schema is the version of the data format.
const schema = "3"

// check rejects a server that could lose acknowledged writes, and data in another format. It uses
// INFO, which servers answer even where CONFIG is forbidden.
func (e *Engine) check(ctx context.Context) error {
	text, err := e.client.Info(ctx, "server", "persistence", "memory", "replication", "cluster").Result()
	if err != nil {
		return e.fault(err)
	}
	if err := serverFits(parseInfo(text), e.o.Unsafe); err != nil {
		return err
	}
	if err := e.readsBack(ctx); err != nil {
		return err
	}
	return e.checkSchema(ctx)
}

// changes are sample write commands, at least one for each key type that scripts use.
var changes = [][]any{
	{"SET", "", "v"}, {"DEL", ""}, {"HSET", "", "f", "v"}, {"ZADD", "", "0", "m"}, {"XADD", "", "*", "f", "v"},
}

// readsBack rejects a server that would lose writes when it restarts: Redis replays its append-only
// file as the user default, even if that user is off, and skips each transaction that this user may
// not run. The check passes if our user may not run ACL.
func (e *Engine) readsBack(ctx context.Context) error {
	if e.o.Unsafe {
		return nil
	}
	for _, c := range changes {
		c = append([]any{"ACL", "DRYRUN", "default"}, c...)
		c[4] = e.key("schema")
		answer, err := e.client.Do(ctx, c...).Text()
		if _, refused := errors.AsType[redis.Error](err); refused {
			return nil
		}
		if err != nil {
			return e.fault(err)
		}
		if answer != "OK" {
			return fmt.Errorf("redis would lose what it acknowledged when it starts again: it reads its append-only file as the user default, which may not change keys of the prefix (%s); "+
				"write `user default off ~* &* +@all`, which leaves it switched off, or pass --unsafe-redis to take that risk", strings.ToLower(answer))
		}
	}
	return nil
}

// parseInfo parses the reply to INFO.
func parseInfo(text string) map[string]string {
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			info[name] = value
		}
	}
	return info
}

// serverFits returns all problems in one error.
func serverFits(info map[string]string, unsafe bool) error {
	var wrong []string
	version := info["redis_version"]
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err != nil || n < oldest {
		wrong = append(wrong, fmt.Sprintf("redis is version %q: version %d or later is needed", version, oldest))
	}
	if info["cluster_enabled"] == "1" {
		wrong = append(wrong, "redis is a Cluster, where one change cannot reach all keys at once: use one primary, with Sentinel if it must not be missed")
	}
	if role := info["role"]; role != "master" {
		wrong = append(wrong, fmt.Sprintf("redis is not the primary but %q: give the address of the primary, or those of the Sentinels with sentinel=NAME", role))
	}
	if info["aof_enabled"] != "1" && !unsafe {
		wrong = append(wrong, "redis would lose what it acknowledged when it stops: set appendonly yes, or pass --unsafe-redis to take that risk")
	}
	if policy := info["maxmemory_policy"]; policy != "noeviction" && !unsafe {
		wrong = append(wrong, fmt.Sprintf("redis would forget records when its memory is full: set maxmemory-policy noeviction (it is %q), or pass --unsafe-redis to take that risk", policy))
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(wrong, "; "))
}

// checkSchema marks an empty database with the format and a unique name, and rejects data in
// another format. From then on scripts refuse to work on any other data: see common.lua.
func (e *Engine) checkSchema(ctx context.Context) error {
	if err := e.client.SetNX(ctx, e.key("schema"), schema+" "+rand.Text(), 0).Err(); err != nil {
		return e.fault(err)
	}
	got, err := e.client.Get(ctx, e.key("schema")).Result()
	if err != nil {
		return e.fault(err)
	}
	if form, _, _ := strings.Cut(got, " "); form != schema {
		return fmt.Errorf("the data under prefix %q has format %q, but this program supports %q: use the version of Interlock that wrote it, or another prefix", e.prefix, form, schema)
	}
	e.data = got
	return nil
}
