package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/interlock-go/interlock/internal/store/sqlite"
)

// build builds the program as it is released and returns its path.
func build(dir string) (string, error) {
	path := filepath.Join(dir, "interlock")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, "./cmd/interlock")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w: %s", err, out)
	}
	return path, nil
}

// withProgram calls measure with a temporary directory, and with the program, which it built there.
func withProgram[T any](measure func(dir, binary string) (T, error)) (measured T, err error) {
	dir, err := os.MkdirTemp("", "interlock-bench-")
	if err != nil {
		return measured, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary, err := build(dir)
	if err != nil {
		return measured, err
	}
	return measure(dir, binary)
}

// withStore calls measure with an empty embedded store.
func withStore[T any](measure func(*sqlite.Store) (T, error)) (measured T, err error) {
	dir, err := os.MkdirTemp("", "interlock-bench-")
	if err != nil {
		return measured, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	db, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		return measured, err
	}
	defer db.Close()
	return measure(db)
}

// server is a controller running as a separate process.
type server struct {
	cmd     *exec.Cmd
	address string
	ended   chan error
}

var listening = regexp.MustCompile(`^interlock listens on http://(\S+) `)

// start runs the program on the project in dir and waits until it listens.
func start(binary, dir string) (*server, error) {
	cmd := exec.Command(binary, "serve", "--listen", "127.0.0.1:0")
	cmd.Dir = dir
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, ended: make(chan error, 1)}
	lines := bufio.NewReader(log)
	var said []byte
	for s.address == "" {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			_ = cmd.Process.Kill()
			return nil, fmt.Errorf("the server did not start: %w: %s", errors.Join(err, cmd.Wait()), said)
		}
		said = append(said, line...)
		if found := listening.FindSubmatch(line); found != nil {
			s.address = string(found[1])
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, lines) // so that a full pipe does not block its logging
		s.ended <- cmd.Wait()
	}()
	return s, nil
}

// stop asks the server to end and waits for it.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return <-s.ended
}
