package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/settings"
)

// maxSocketPath is the maximum length of a Unix socket's path. The operating system allows slightly
// more; the rest is for the temporary directory in which the socket is created.
const maxSocketPath = 80

// listenOn listens on the address or socket in the server's file.
func listenOn(ctx context.Context, f settings.File) (net.Listener, error) {
	path, ok := f.Socket()
	if !ok {
		return listenTCP(ctx, f.Listen)
	}
	l, err := listenOnSocket(ctx, path, f.SocketMode)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", f.Listen, err)
	}
	return l, nil
}

// listenTCP listens on an address. An error says what prevents that and what to do.
func listenTCP(ctx context.Context, address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l, nil
	}
	const choose = "choose another address with --listen ADDR, or `listen` in the server's file"
	failed := "listen on " + address + ": "
	switch {
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, usedOnWindows):
		return nil, hint{err, failed + takenBy(ctx, address) + "; stop it, or " + choose + nextPort(address)}
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, hint{err, failed + "this machine does not have that address; " + choose}
	case errors.Is(err, syscall.EACCES):
		return nil, hint{err, failed + "this user may not open that port, as is usual below 1024; " + choose}
	}
	return nil, fmt.Errorf("listen on %s: %w", address, err)
}

// takenWait is how long the program at a taken address may take to say what it is.
const takenWait = 2 * time.Second

// takenBy says which program has an address: another interlock if it answers like one.
func takenBy(ctx context.Context, address string) string {
	ctx, cancel := context.WithTimeout(ctx, takenWait)
	defer cancel()
	if c, err := client.New("http://" + address); err == nil {
		state, err := c.Ready(ctx)
		problem, answered := errors.AsType[*client.Problem](err)
		if state.Status == "ready" || answered && strings.HasPrefix(problem.Type, "urn:interlock:") {
			return "another interlock already listens there"
		}
	}
	return "another program already listens there"
}

// nextPort returns the address with the next port as an example for --listen; "" if there is none.
func nextPort(address string) string {
	host, port, err := net.SplitHostPort(address)
	n, numberErr := strconv.Atoi(port)
	if err != nil || numberErr != nil || n >= 1<<16-1 {
		return ""
	}
	return ", such as " + net.JoinHostPort(host, strconv.Itoa(n+1))
}

// listenOnSocket creates a Unix socket, sets its mode, and then moves it to path, so that path
// never has another mode. It replaces the socket of a server that was killed, and nothing else.
func listenOnSocket(ctx context.Context, path, mode string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the socket path has %d bytes; at most %d are allowed", len(path), maxSocketPath)
	}
	permissions, err := strconv.ParseUint(mode, 8, 9)
	if err != nil {
		return nil, fmt.Errorf("socketMode %q is not a file mode; write \"0600\" or \"0660\"", mode)
	}
	if err := checkSocket(ctx, path); err != nil {
		return nil, err
	}
	hidden, err := os.MkdirTemp(filepath.Dir(path), ".il")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(hidden)
	made := filepath.Join(hidden, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: made, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // the socket is renamed below
	if err := errors.Join(os.Chmod(made, os.FileMode(permissions)), os.Rename(made, path)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &socket{UnixListener: l, path: path}, nil
}

// The errors of Windows that its package syscall does not map to those of Unix.
const (
	refusedOnWindows = syscall.Errno(10061) // WSAECONNREFUSED
	usedOnWindows    = syscall.Errno(10048) // WSAEADDRINUSE
)

// checkSocket returns an error unless path is free or is the socket of a server that is gone.
func checkSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != os.ModeSocket {
		return fmt.Errorf("%s exists and is not a socket; remove it, or use another path", path)
	}
	c, err := client.New("unix:" + path)
	if err != nil {
		return err
	}
	if _, err = c.Ready(ctx); errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, refusedOnWindows) {
		return nil
	}
	return fmt.Errorf("another server listens on %s; stop it, or use another path", path)
}

// socket is a listener that removes its file on Close.
type socket struct {
	*net.UnixListener
	path string
}

// Close removes the file and stops listening.
func (s *socket) Close() error {
	err := os.Remove(s.path)
	if os.IsNotExist(err) {
		err = nil
	}
	return errors.Join(s.UnixListener.Close(), err)
}

// reservedDescriptors is the minimum number of file descriptors reserved for the store, jobs,
// probes and alerts.
const reservedDescriptors = 256

// connections returns the maximum number of client connections: the configured number, or less so
// that enough descriptors are left for the store and the jobs. A quarter of the process's limit is
// reserved, and at least reservedDescriptors.
func connections(wanted, descriptors int) int {
	return max(min(wanted, descriptors-max(descriptors/4, reservedDescriptors)), 16)
}
