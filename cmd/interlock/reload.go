package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/settings"
)

// reloadOn reloads at each signal (SIGHUP) until ctx ends: the server's file, tokens and
// certificates, and then the folders. If a step fails, the previous settings stay active; the error
// is logged, and shown in /readyz until the next reload.
func (c *controller) reloadOn(ctx context.Context, signals <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		// In this order: the server's file names the tokens, the certificates and the folders.
		failed := errors.Join(c.reloadFile(), c.access.Reload(ctx))
		c.reload.Again(c.folders)
		var trouble *string
		if failed != nil {
			c.logger.Error("the reload failed; the previous settings stay active", "error", failed)
			trouble = new(fmt.Sprintf("the reload at %s failed: %s", period.Stamp(time.Now()), strings.ReplaceAll(failed.Error(), "\n", "; ")))
		} else {
			c.logger.Info("reloaded")
		}
		c.reloadTrouble.Store(trouble)
	}
}

// reloadCheck reports the last reload, if it failed.
func (c *controller) reloadCheck() []client.HealthCheck {
	if trouble := c.reloadTrouble.Load(); trouble != nil {
		return []client.HealthCheck{{Name: "reload", Detail: *trouble}}
	}
	return nil
}

// reloadFile re-reads the server's file. It applies tokens, certificate paths, and the folders of
// pipelines, calendars and archetypes, and logs which other changes need a restart. If the file is
// not valid for a start, nothing changes.
func (c *controller) reloadFile() error {
	next, folders, err := c.reread()
	if err != nil {
		return err
	}
	if err := checkStart(next, folders, c.around); err != nil {
		return err
	}
	if names := needRestart(c.file, next); len(names) > 0 {
		c.logger.Warn("some changes to the server's file take effect after a restart", "keys", strings.Join(names, ", "))
	}
	c.access.use(next)
	c.folders = folders
	return nil
}

// needRestart lists the keys of the server's file that have changed and take effect only after a
// restart.
func needRestart(now, next settings.File) []string {
	next.Auth.Tokens = now.Auth.Tokens
	next.Pipelines, next.Calendars, next.Archetypes, next.Sources = now.Pipelines, now.Calendars, now.Archetypes, now.Sources
	if now.TLS.Cert != "" && next.TLS.Cert != "" {
		next.TLS = now.TLS
	}
	var names []string
	one, other := reflect.ValueOf(now), reflect.ValueOf(next)
	for i := range one.NumField() {
		if !reflect.DeepEqual(one.Field(i).Interface(), other.Field(i).Interface()) {
			names = append(names, one.Type().Field(i).Tag.Get("yaml"))
		}
	}
	slices.Sort(names)
	return names
}
