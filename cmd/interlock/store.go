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
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/redis"
	"github.com/interlock-go/interlock/internal/store/sqlite"
)

// records is the controller's store, with what the controller needs to know about it.
type records struct {
	store.Store
	shared  bool                        // other controllers use it too
	trouble func() error                // why it rejects writes from outside; nil if the store cannot tell
	probe   func(context.Context) error // probes the store and returns trouble; nil if the store does this itself
	dir     *datadir.Dir                // nil if the store itself holds the lock
}

// Close closes the store, and then releases the data directory.
func (r records) Close() error {
	err := r.Store.Close()
	if r.dir != nil {
		err = errors.Join(err, r.dir.Close())
	}
	return err
}

// openStore locks the data directory and opens the store that the settings name.
func openStore(ctx context.Context, f settings.File, s surroundings) (records, error) {
	if !settings.IsRedis(f.Store) {
		if f.Store != "sqlite" {
			return records{}, fmt.Errorf("the store must be sqlite or a redis:// URL; see --store")
		}
		db, err := sqlite.Open(ctx, f.Data.Dir, sqlite.Options{Reserve: int64(f.Data.Reserve), MustExist: s.mustExist, New: s.newStore})
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
	dir, err := datadir.Take(f.Data.Dir) // last, so that a rejected Redis leaves no directory behind
	if err != nil {
		return records{}, errors.Join(err, db.Close())
	}
	id, err := store.Identity(ctx, db, time.Now())
	if err == nil {
		err = ownRedis(dir, id, s)
	}
	if err != nil {
		return records{}, errors.Join(err, db.Close(), dir.Close())
	}
	if s.unsafeRedis {
		s.logger.Warn("with --unsafe-redis, Redis may lose acknowledged writes, and jobs may start twice")
	}
	return records{Store: db, shared: true, trouble: db.Trouble, dir: dir}, nil
}

// ownRedis makes the data directory belong to the Redis, which may have lost its data.
func ownRedis(dir *datadir.Dir, id string, s surroundings) error {
	owner, err := dir.Store()
	if err == nil && owner == "" && s.mustExist && !s.newStore {
		err = fmt.Errorf("data directory %s has not been used yet, and it must have been: is the right volume mounted? For the very first start, use --new", dir.Path)
	}
	if err != nil {
		return err
	}
	return dir.Own(id, s.newStore)
}

// redisURL returns the store's URL. If it has no password, redisURL adds the one from the
// environment.
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
		return f.Store, nil // opening the store reports the invalid URL, without the password
	}
	if _, has := u.User.Password(); !has {
		u.User = url.UserPassword(u.User.Username(), password)
	}
	return u.String(), nil
}

// probeEvery is how often the store is probed: the longest time until a full disk is noticed if
// nothing is written.
const probeEvery = 5 * time.Second

// storeWatch probes the store. It reports once when the store stops accepting writes from outside,
// and once when it accepts them again.
type storeWatch struct {
	c         *controller
	since     time.Time // zero while the store accepts writes
	remedy    string
	announced bool // INFRA_ALARM is stored
}

func (c *controller) storeTick() []engine.Tick {
	if c.store.probe == nil {
		return nil
	}
	w := &storeWatch{c: c}
	return []engine.Tick{{Name: "store", Every: probeEvery, Do: w.check}}
}

func (w *storeWatch) check(ctx context.Context, now time.Time) error {
	err := w.c.store.probe(ctx)
	if err != nil && store.FaultOf(err) == nil {
		return err
	}
	switch {
	case err != nil && w.since.IsZero():
		w.since, w.remedy = now, store.FaultOf(err).Remedy
		w.c.logger.Error("the store rejects writes from clients", "error", err)
	case err == nil && !w.since.IsZero():
		w.c.logger.Info("the store accepts writes again")
	}
	if w.since.IsZero() {
		return nil
	}
	if !w.announced {
		// If even this cannot be stored, the log and /readyz have reported it, and the next tick
		// retries, also after the store accepts writes again.
		failed := w.announce(ctx, "ALARM", w.remedy, w.since)
		if w.announced = failed == nil; !w.announced && err == nil {
			return failed
		}
	}
	if err != nil {
		return nil
	}
	if err := w.announce(ctx, "OK", "the store accepts writes again", now); err != nil {
		return err
	}
	w.since, w.announced = time.Time{}, false
	return nil
}

func (w *storeWatch) announce(ctx context.Context, state, message string, at time.Time) error {
	which := fmt.Sprintf("store %s since %s", state, period.Exact(w.since))
	b := store.Batch{ID: which}
	b.Emit(event.New(event.InfraAlarm, event.About{Which: which, At: at}, message, event.Alarm{Alarm: "store", State: state}))
	return w.c.store.Commit(ctx, b, at)
}

// storeCheck reports whether the store accepts writes from outside.
func (c *controller) storeCheck() []client.HealthCheck {
	if c.store.trouble == nil {
		return nil
	}
	if err := c.store.trouble(); err != nil {
		return []client.HealthCheck{{Name: "store", Detail: err.Error()}}
	}
	return []client.HealthCheck{{Name: "store", OK: true, Detail: "accepts writes"}}
}
