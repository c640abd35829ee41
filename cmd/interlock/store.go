package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/datadir"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/redis"
	"github.com/interlock-go/interlock/internal/store/sqlite"
)

// records is what a controller remembers, wherever that is.
type records struct {
	store.Store
	shared  bool                        // other controllers work on it, too
	trouble func() error                // why it takes no changes from outside; nil if that is never known
	probe   func(context.Context) error // finds out, and returns trouble; nil where the store does so itself
	dir     *datadir.Dir                // nil where the store itself has taken it
}

// Close closes the store before it gives the data directory back.
func (r records) Close() error {
	err := r.Store.Close()
	if r.dir != nil {
		err = errors.Join(err, r.dir.Close())
	}
	return err
}

// openStore takes the data directory and opens the store that the settings name.
func openStore(ctx context.Context, f settings.File, s surroundings) (records, error) {
	if !settings.IsRedis(f.Store) {
		if f.Store != "sqlite" {
			return records{}, fmt.Errorf("the store must be sqlite or a redis:// URL; see --store")
		}
		db, err := sqlite.Open(ctx, f.Data.Dir, sqlite.Options{Reserve: int64(f.Data.Reserve)})
		if err != nil {
			return records{}, err
		}
		return records{Store: db, trouble: db.Trouble, probe: db.Probe}, nil
	}
	address, err := redisURL(f, s.getenv)
	if err != nil {
		return records{}, err
	}
	o := redis.Options{Unsafe: s.unsafeRedis, Log: s.logger}
	if f.Redis != nil {
		o.Readiness = f.Redis.ReadinessTTL.D()
	}
	db, err := redis.Open(ctx, address, o)
	if err != nil {
		return records{}, err
	}
	dir, err := datadir.Take(f.Data.Dir) // last, so that a Redis that is refused leaves no directory
	if err != nil {
		return records{}, errors.Join(err, db.Close())
	}
	if s.unsafeRedis {
		s.logger.Warn("with --unsafe-redis, Redis may lose acknowledged writes, and jobs may start twice")
	}
	return records{Store: db, shared: true, trouble: db.Trouble, dir: dir}, nil
}

// redisURL is the store's address with the password that the environment holds, unless it has one.
func redisURL(f settings.File, getenv func(string) string) (string, error) {
	if f.Redis == nil || f.Redis.PasswordEnv == "" {
		return f.Store, nil
	}
	password := getenv(f.Redis.PasswordEnv)
	if password == "" {
		return "", fmt.Errorf("redis.passwordEnv: the environment variable %s is not set; set it to the password, or remove passwordEnv from the server's file", f.Redis.PasswordEnv)
	}
	u, err := url.Parse(f.Store)
	if err != nil {
		return f.Store, nil // the store says what is wrong with it, and shows no password
	}
	if _, has := u.User.Password(); !has {
		u.User = url.UserPassword(u.User.Username(), password)
	}
	return u.String(), nil
}

// probeEvery is how often the store is probed, and so how late a full disk is noticed while nothing is written.
const probeEvery = 5 * time.Second

// storeWatch probes the store, and reports once when it stops taking changes from outside and once when it takes them again.
type storeWatch struct {
	c         *controller
	since     time.Time // zero while it takes changes
	announced bool      // INFRA_ALARM is stored
}

func (c *controller) storeTick() []engine.Tick {
	if c.store.probe == nil {
		return nil
	}
	w := &storeWatch{c: c}
	return []engine.Tick{{Name: "store", Every: probeEvery, Do: w.look}}
}

func (w *storeWatch) look(ctx context.Context, now time.Time) error {
	err := w.c.store.probe(ctx)
	if err != nil && store.FaultOf(err) == nil {
		return err
	}
	switch {
	case err != nil && w.since.IsZero():
		w.since = now
		w.c.logger.Error("the store accepts no writes from outside", "error", err)
	case err == nil && !w.since.IsZero():
		w.c.logger.Info("the store accepts writes again")
	}
	switch {
	case err != nil && !w.announced:
		// Where not even this can be stored, the log and /readyz have said it, and it is tried again.
		w.announced = w.announce(ctx, "ALARM", store.FaultOf(err).Remedy, now) == nil
	case err == nil && w.announced:
		if err := w.announce(ctx, "OK", "the store accepts writes again", now); err != nil {
			return err
		}
		w.announced = false
	}
	if err == nil {
		w.since = time.Time{}
	}
	return nil
}

func (w *storeWatch) announce(ctx context.Context, state, message string, now time.Time) error {
	which := fmt.Sprintf("store %s since %s", state, w.since.UTC().Format(time.RFC3339Nano))
	b := store.Batch{ID: which}
	b.Emit(event.New(event.InfraAlarm, event.About{Which: which, At: now}, message, event.Alarm{Alarm: "store", State: state}))
	return w.c.store.Commit(ctx, b, now)
}

// storeCheck reports whether the store takes changes from outside.
func (c *controller) storeCheck() []client.HealthCheck {
	if c.store.trouble == nil {
		return nil
	}
	if err := c.store.trouble(); err != nil {
		return []client.HealthCheck{{Name: "store", Detail: err.Error()}}
	}
	return []client.HealthCheck{{Name: "store", OK: true, Detail: "accepts writes"}}
}
