package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/settings"
)

// maxSocketPath is how long the path of a Unix socket may be. The operating system takes a little more, which the
// directory that the socket is made in needs.
const maxSocketPath = 80

// listenOn listens where the server's file says.
func listenOn(ctx context.Context, f settings.File) (net.Listener, error) {
	path, ok := f.Socket()
	if !ok {
		l, err := net.Listen("tcp", f.Listen)
		if err != nil {
			return nil, fmt.Errorf("listen on %s: %w", f.Listen, err)
		}
		return l, nil
	}
	l, err := listenOnSocket(ctx, path, f.SocketMode)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", f.Listen, err)
	}
	return l, nil
}

// listenOnSocket makes a Unix socket and puts it in its place once it has its mode, so that there is no moment at which it
// has another. It replaces the socket of a server that was killed, and nothing else.
func listenOnSocket(ctx context.Context, path, mode string) (net.Listener, error) {
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path of a socket has at most %d bytes, this one has %d; use a shorter one", maxSocketPath, len(path))
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
	l.SetUnlinkOnClose(false) // it moves
	if err := errors.Join(os.Chmod(made, os.FileMode(permissions)), os.Rename(made, path)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &socket{UnixListener: l, path: path}, nil
}

// checkSocket returns an error if path is taken by something else than the socket of a server that is gone.
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
	_, err = c.Ready(ctx)
	if away := (*client.UnreachableError)(nil); errors.As(err, &away) && !away.Late {
		return nil
	}
	return fmt.Errorf("another server listens on %s; stop it, or use another path", path)
}

// socket removes its file when it is closed.
type socket struct {
	*net.UnixListener
	path string
}

// Close stops listening.
func (s *socket) Close() error {
	err := os.Remove(s.path)
	if os.IsNotExist(err) {
		err = nil
	}
	return errors.Join(s.UnixListener.Close(), err)
}

// reservedDescriptors is how many open files the store, jobs, probes and alerts are left at least.
const reservedDescriptors = 256

// connections returns how many connections the server takes: as many as its file says, unless the store and the jobs would be
// left with too few descriptors. Those are a quarter of what the process may have, and at least reservedDescriptors.
func connections(wanted, descriptors int) int {
	return max(min(wanted, descriptors-max(descriptors/4, reservedDescriptors)), 16)
}
