//go:build unix

package command

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"time"
)

const (
	// glance is how soon a keeper is looked at again whose pipe has closed: it is about to end.
	glance = 2 * time.Millisecond
	// gaze is how often a job is looked at that has no pipe.
	gaze = 250 * time.Millisecond
)

// untilClosed returns when the keeper's pipe has closed, or after a while where there is none.
func (d jobDir) untilClosed(ctx context.Context) error {
	f, err := os.OpenFile(d.file(aliveFile), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return pause(ctx, gaze)
	}
	defer f.Close()
	stop := context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(0, 0)) })
	defer stop()
	_, err = f.Read(make([]byte, 1)) // nobody ever writes: it ends with the last writer
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.EOF):
		return pause(ctx, glance)
	default:
		return pause(ctx, gaze) // a system on which such a pipe cannot be waited for
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
