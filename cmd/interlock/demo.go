package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/demo"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/command"
	"github.com/interlock-go/interlock/internal/run"
)

// demoFlags are the flags of demo.
type demoFlags struct {
	speed        float64
	data, listen string
	once, stay   bool
}

func newDemo(a *app) *cobra.Command {
	f := &demoFlags{}
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a demo of Interlock",
		Long: "Run a demo: a real controller, real jobs and files, two simulated sources, and a\n" +
			"story in eight parts, of a little over a minute. It needs no setup and leaves no files behind.\n" +
			"After the story, on a terminal, the sources and the dashboard continue until Enter or Ctrl-C; without a\n" +
			"terminal the demo ends by itself. When it ends, its port is free again.",
		Example: "  interlock demo\n" +
			"  interlock demo --speed 3 --data ./interlock-demo",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(f.speed >= 0.1 && f.speed <= 100) {
				return usagef("--speed is %g; use 0.1 to 100", f.speed)
			}
			if f.once && f.stay {
				return usagef("use --once or --stay, not both")
			}
			return a.demo(cmd.Context(), f)
		},
	}
	cmd.Flags().Float64Var(&f.speed, "speed", 1, "speed of the sources and the story; the controller's clock is not affected")
	cmd.Flags().StringVar(&f.data, "data", "", "`DIR` of the project, new or empty (default a temporary one)")
	cmd.Flags().BoolVar(&f.once, "once", false, "end after the story, also on a terminal")
	cmd.Flags().BoolVar(&f.stay, "stay", false, "continue after the story until Ctrl-C, also without a terminal")
	cmd.Flags().StringVar(&f.listen, "listen", "", "`ADDR` of the HTTP API (default 127.0.0.1:8740, or a free port if that is in use)")
	return cmd
}

func (a *app) demo(ctx context.Context, f *demoFlags) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop)   // a second signal ends the process at once
	signal.Ignore(syscall.SIGPIPE) // if the reader closes the pipe, the demo still shuts down cleanly
	if err := checkListen(f.listen); err != nil {
		return err
	}
	dir, err := demoDir(f.data)
	if err != nil {
		return err
	}
	remove := func() error {
		if f.data != "" {
			return nil
		}
		return os.RemoveAll(dir)
	}
	c, err := a.demoController(ctx, f, dir)
	if err != nil {
		return errors.Join(err, remove())
	}
	if err := errors.Join(a.playDemo(ctx, f, dir, c), endJobs(jobsDir(demoState(dir)))); err != nil {
		return fmt.Errorf("%w; see interlock.log in %s", err, dir)
	}
	if err := remove(); err != nil {
		return err
	}
	farewell := "The demo has stopped its processes and deleted its files."
	if f.data != "" {
		farewell = fmt.Sprintf("The demo has stopped its processes. To continue with the project: cd %s && interlock serve", dir)
	}
	_, err = fmt.Fprintln(a.stdout, farewell)
	return err
}

// demoDir returns an empty directory for the demo's project.
func demoDir(named string) (string, error) {
	if named == "" {
		return os.MkdirTemp("", "interlock-demo-")
	}
	dir, err := filepath.Abs(named)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", named, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("create the demo's directory: %w", err)
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("read the demo's directory: %w", err)
	}
	if len(there) > 0 {
		return "", usagef("--data %s is not empty; the demo needs an empty directory", named)
	}
	return dir, nil
}

// demoState is the data directory of the demo's controller.
func demoState(dir string) string { return filepath.Join(dir, "interlock-data") }

// playDemo runs the controller on the project in dir, and plays the demo's story against it.
func (a *app) playDemo(ctx context.Context, f *demoFlags, dir string, c *controller) error {
	// The controller stops only after the story has printed its summary.
	working, halt := context.WithCancel(context.WithoutCancel(ctx))
	defer halt()
	playing, quit := context.WithCancel(ctx)
	defer quit()
	worked := make(chan error, 1)
	go func() {
		defer quit()
		worked <- c.run(working)
	}()
	played := demo.Run(playing, demo.Options{
		Project: dir, Address: c.address(), Store: c.store, Out: flushing{a, quit}, Colours: a.outStyle.colours,
		Speed: f.speed, Stay: f.stay || a.watched() && !f.once, Enough: a.enter(), Command: commandFor(c.address()), Now: time.Now,
	})
	halt()
	return errors.Join(played, <-worked)
}

// watched reports whether a person can see the output and press a key.
func (a *app) watched() bool {
	f, ok := a.stdin.(*os.File)
	return ok && a.terminal && term.IsTerminal(int(f.Fd()))
}

// enter returns a function that waits for Enter; nil if nobody can press it.
func (a *app) enter() func() {
	if !a.watched() {
		return nil
	}
	return func() { _, _ = bufio.NewReader(a.stdin).ReadString('\n') } // any end of the input will do
}

// demoController opens the controller of the demo's project. Unless --listen is given, it uses any
// free address.
func (a *app) demoController(ctx context.Context, f *demoFlags, dir string) (*controller, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the executable for the demo's jobs: %w", err)
	}
	if err := demo.Write(dir, self); err != nil {
		return nil, err
	}
	file, err := a.serverFile(filepath.Join(dir, usualServerFile), a.printProblem)
	if err != nil {
		return nil, err
	}
	file.Data.Dir, file.Data.Reserve = demoState(dir), 0
	folders := engine.Folders{Pipelines: []string{filepath.Join(dir, "pipelines")}, Calendars: []string{filepath.Join(dir, "calendars")}}
	log, err := os.Create(filepath.Join(dir, "interlock.log")) // stays open until the process ends
	if err != nil {
		return nil, fmt.Errorf("open the demo's log: %w", err)
	}
	around := surroundings{getenv: a.getenv, logger: slog.New(slog.NewTextHandler(log, nil))}
	file.Listen = cmp.Or(f.listen, file.Listen)
	c, err := newController(ctx, file, folders, around)
	if f.listen == "" && (errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, usedOnWindows)) {
		file.Listen = "127.0.0.1:0"
		c, err = newController(ctx, file, folders, around)
	}
	return c, err
}

// commandFor returns the start of a command line for a server at that address.
func commandFor(address string) string {
	if address == client.DefaultServer {
		return os.Args[0]
	}
	return os.Args[0] + " --server " + address
}

// flushing flushes after each write, so that the story appears as it happens. If a write fails, the
// reader is gone and flushing calls quit.
type flushing struct {
	*app
	quit func()
}

func (w flushing) Write(text []byte) (int, error) {
	n, err := w.stdout.Write(text)
	if err == nil {
		err = w.flush()
	}
	if err != nil {
		w.quit()
	}
	return n, err
}

// endJobs ends the commands that the stopped controller left running on purpose, and waits until
// they have exited.
func endJobs(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the demo's jobs: %w", err)
	}
	commands, err := command.New(command.Options{Jobs: dir})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*grace)
	defer cancel()
	for _, entry := range entries {
		err = errors.Join(err, endJob(ctx, commands, run.Handle(entry.Name())))
	}
	return err
}

func endJob(ctx context.Context, commands job.Type, h run.Handle) error {
	status, err := commands.Status(ctx, job.Attempt{}, h)
	if errors.Is(err, job.ErrUnknownHandle) || err == nil && status.Done {
		return nil
	}
	if stopper, ok := commands.(job.Stopper); ok {
		err = errors.Join(err, stopper.Stop(ctx, job.Attempt{}, h))
	}
	if waiter, ok := commands.(job.Waiter); ok {
		err = errors.Join(err, waiter.Wait(ctx, job.Attempt{}, h))
	}
	if err != nil {
		return fmt.Errorf("end the job %s: %w", h, err)
	}
	return nil
}
