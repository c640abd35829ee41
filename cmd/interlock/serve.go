package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/store/redis"
)

// serveFlags are the flags of serve; each overrides the server's file.
type serveFlags struct {
	pipelines, calendars, archetypes, sources []string
	data, store, listen, config               string
	unsafeRedis, shared, mustExist, newStore  bool
	paused                                    bool
	logFormat, logLevel                       *choice
}

func newServe(a *app) *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the controller",
		Long: "Run the controller: accept sensor readings over HTTP, start jobs when their gates open, watch\n" +
			"deadlines, and report missing runs and data. Its state is in the data directory, or in a\n" +
			"Redis that several controllers share, each with its own data directory.\n" +
			"Without --config, ./interlock.yaml is read if it exists; flags override the file.\n" +
			"With --paused, all pipelines are paused before anything can start, so that a restored copy can be\n" +
			"inspected; `interlock resume --all` ends the pause. The dashboard is at the server's address.",
		Example: "  interlock serve --pipelines ./pipelines --data ./interlock-data\n" +
			"  interlock serve --data ./restored --paused",
		Args: noArguments,
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.pipelines, "pipelines", nil, "`DIR` of pipeline files; can be repeated (default ./pipelines)")
	flags.StringArrayVar(&f.calendars, "calendars", nil, "`DIR` of calendar files (default ./calendars, if it exists)")
	flags.StringArrayVar(&f.archetypes, "archetypes", nil, "`DIR` of archetype files (default ./archetypes, if it exists)")
	flags.StringArrayVar(&f.sources, "sources", nil, "`DIR` of source files (default ./sources, if it exists)")
	flags.StringVar(&f.data, "data", "", "`DIR` of the embedded store and of running commands (default ./interlock-data)")
	flags.StringVar(&f.store, "store", "", "`URL` of the store: sqlite, redis://HOST:PORT/DB, rediss://…; dynamodb://ENVIRONMENT?region=REGION is read-only (default sqlite)")
	flags.BoolVar(&f.unsafeRedis, "unsafe-redis", false, "accept a Redis that may lose acknowledged writes: no append-only file, or eviction")
	flags.BoolVar(&f.mustExist, "data-must-exist", false, "refuse a data directory that has not been used yet: it may be a volume that is not mounted")
	flags.BoolVar(&f.newStore, "new", false, "begin with a new store although the data directory belonged to another, which is lost or given up")
	flags.BoolVar(&f.shared, "shared-store", false, "refuse to start on a store that only this controller can use: for deployments of several controllers")
	flags.StringVar(&f.listen, "listen", "", "`ADDR` of the HTTP API (default 127.0.0.1:8740)")
	flags.BoolVar(&f.paused, "paused", false, "pause all pipelines before anything can start, until resume --all")
	addServerFile(cmd, &f.config)
	f.logFormat = &choice{value: textFormat, options: []string{textFormat, jsonFormat}}
	addChoice(cmd, f.logFormat, "log-format", "", "log format")
	f.logLevel = &choice{value: infoLevel, options: []string{infoLevel, debugLevel}}
	addChoice(cmd, f.logLevel, "log-level", "", "log level; debug logs every request")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), f) }
	return cmd
}

func (a *app) serve(ctx context.Context, f *serveFlags) error {
	if a.errTerminal {
		a.stderr = &statusLine{out: a.stderr}
	}
	logger := a.newLogger(f.logFormat.value, f.logLevel.value == debugLevel)
	err := a.serveLogging(ctx, f, logger)
	if err == nil || f.logFormat.value != jsonFormat {
		return err
	}
	logger.Error("interlock failed", "error", err)
	return codeError(exitUsage)
}

// newLogger returns the server's logger. Libraries log to it too, so that a JSON log contains only
// JSON.
func (a *app) newLogger(format string, debug bool) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.LevelInfo}
	if debug {
		options.Level = slog.LevelDebug
	}
	logger := slog.New(slog.NewTextHandler(a.stderr, options))
	if format == jsonFormat {
		logger = slog.New(slog.NewJSONHandler(a.stderr, options))
	}
	slog.SetDefault(logger)
	steady := summarised(logger)
	redis.LogTo(steady)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { steady.Warn("send traces", "error", err) }))
	return logger
}

func (a *app) serveLogging(ctx context.Context, f *serveFlags, logger *slog.Logger) error {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // before anything else: SIGHUP must never end the server
	defer signal.Stop(hangups)
	if err := checkListen(f.listen); err != nil {
		return err
	}
	read := func() (settings.File, engine.Folders, error) {
		file, err := a.serverFile(f.config, a.problemLog(f.logFormat.value, logger))
		if err != nil {
			return file, engine.Folders{}, err
		}
		a.takeenv(file.SecretVariables())
		folders := f.override(&file)
		return file, folders, f.checkStore(file)
	}
	file, folders, err := read()
	if err != nil {
		return err
	}
	if isDeployed(file.Store) && f.paused {
		return usagef("--paused is for a server that starts jobs; pause an AWS deployment with `interlock pause --all --store %s`", file.Store)
	}
	limitMemory(a.getenv, os.DirFS("/"), logger)
	if isDeployed(file.Store) {
		return a.serveTables(ctx, file, logger)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	end, applying := func() {}, &catalog.Progress{}
	if f.logFormat.value != jsonFormat {
		end = a.progress("starting", applying.String)
	}
	c, err := newController(ctx, file, folders, surroundings{getenv: a.getenv, logger: logger, unsafeRedis: f.unsafeRedis, mustExist: f.mustExist, newStore: f.newStore, paused: f.paused, applying: applying})
	end()
	if err != nil {
		return err
	}
	c.reread = read
	go c.reloadOn(ctx, hangups)
	a.announce(ctx, c, f.logFormat.value, logger)
	logged := make(chan struct{})
	context.AfterFunc(ctx, func() {
		logger.Info("interlock is stopping; it finishes or hands back the work in progress")
		close(logged)
	})
	err = c.run(ctx)
	if ctx.Err() != nil {
		<-logged
	}
	return err
}

// announce says where the server and its dashboard are, and whether all pipelines are paused.
func (a *app) announce(ctx context.Context, c *controller, format string, logger *slog.Logger) {
	active, paused := len(c.catalog.Current().All()), c.pausedNotice(ctx)
	if format == jsonFormat {
		logger.Info("interlock listens", "address", c.address(), "dashboard", c.dashboard(), "pipelines", active, "paused", paused, "version", version)
		return
	}
	fmt.Fprintf(a.stderr, "interlock listens on %s with %s; stop it with Ctrl-C\n", c.address(), plural(active, "pipeline"))
	if at := c.dashboard(); at != "" {
		fmt.Fprintf(a.stderr, "dashboard: %s\n", at)
	}
	if paused != "" {
		fmt.Fprintf(a.stderr, "%s\n", paused)
	}
}

// problemLog returns a function that reports a problem in the server's file: as text with its
// source line, or as an entry in a JSON log.
func (a *app) problemLog(format string, logger *slog.Logger) func(p document.Problem, line string) {
	if format != jsonFormat {
		return a.printProblem
	}
	return func(p document.Problem, _ string) { logger.Error("problem in a file", "problem", p.String()) }
}

// printProblem prints a problem with its source line.
func (a *app) printProblem(p document.Problem, line string) {
	writeProblem(a.stderr, p, line, a.errStyle)
}

// usualServerFile is read if it exists.
const usualServerFile = "interlock.yaml"

func addServerFile(cmd *cobra.Command, config *string) {
	cmd.Flags().StringVar(config, "config", "", "`FILE` of the server (default ./"+usualServerFile+", if it exists)")
}

// serverFile reads the server's file, or returns the defaults if there is none.
func (a *app) serverFile(name string, report func(p document.Problem, line string)) (settings.File, error) {
	path := cmp.Or(name, usualServerFile)
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) && name == "" {
		return settings.Default(), nil
	}
	if err != nil {
		return settings.File{}, fmt.Errorf("read the server's file: %w", err)
	}
	f, problems := settings.Parse(path, data)
	for _, p := range problems {
		report(p, document.SourceLine(string(data), p.Line))
	}
	if n := errorCount(problems); n > 0 {
		return f, fmt.Errorf("%s is not a valid server file: %s", path, plural(n, "error"))
	}
	return f, nil
}

// checkListen returns an error if --listen is set to something that the server's file could not
// have.
func checkListen(flag string) error {
	if flag == "" {
		return nil
	}
	if err := settings.CheckListen(flag); err != nil {
		return usagef("--listen: %s", err)
	}
	return nil
}

// checkStore returns an error if the store is the embedded one although several controllers, or the
// server's file, mean another.
func (f *serveFlags) checkStore(file settings.File) error {
	switch {
	case settings.IsRedis(file.Store):
		return nil
	case f.shared:
		return errors.New("--shared-store: the store is not one that several controllers can share, and each would run every job; set store: redis://HOST:6379/0 in the server's file")
	case f.store == "" && file.Redis != nil:
		return errors.New("redis: the file has settings of a Redis and names none, so the store would be the embedded one; set store: redis://HOST:6379/0, or remove redis")
	}
	return nil
}

// override applies flags to the file and returns the folders. Calendars, archetypes and sources may
// be missing if neither flags nor file name another folder than the default.
func (f *serveFlags) override(file *settings.File) engine.Folders {
	usual := settings.Default()
	optional := map[string]bool{}
	for _, list := range [][2][]string{{file.Calendars.Values, usual.Calendars.Values}, {file.Archetypes.Values, usual.Archetypes.Values}, {file.Sources.Values, usual.Sources.Values}} {
		if fmt.Sprint(list[0]) == fmt.Sprint(list[1]) {
			for _, dir := range list[0] {
				optional[dir] = true
			}
		}
	}
	file.Data.Dir = cmp.Or(f.data, file.Data.Dir)
	file.Store = cmp.Or(f.store, file.Store)
	file.Listen = cmp.Or(f.listen, file.Listen)
	or := func(flag, dirs []string) []string {
		if len(flag) > 0 {
			return flag
		}
		return dirs
	}
	return engine.Folders{
		Pipelines: or(f.pipelines, file.Pipelines.Values), Calendars: or(f.calendars, file.Calendars.Values),
		Archetypes: or(f.archetypes, file.Archetypes.Values), Sources: or(f.sources, file.Sources.Values), Optional: optional,
	}
}
