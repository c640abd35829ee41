package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/interlock-go/interlock/internal/datadir"
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
