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
	// glance is the poll interval of a keeper whose pipe has closed: it is about to exit.
	glance = 2 * time.Millisecond
	// gaze is the poll interval of a job without a pipe.
	gaze = 250 * time.Millisecond
)

// untilClosed returns when the keeper's pipe has closed, or after a pause if there is none.
func (d jobDir) untilClosed(ctx context.Context) error {
	f, err := os.OpenFile(d.file(aliveFile), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return pause(ctx, gaze)
	}
	defer f.Close()
	stop := context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(0, 0)) })
	defer stop()
	_, err = f.Read(make([]byte, 1)) // nothing is ever written: Read returns when the last writer closes
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, io.EOF):
		return pause(ctx, glance)
	default:
		return pause(ctx, gaze) // on a system that cannot wait for such a pipe
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
