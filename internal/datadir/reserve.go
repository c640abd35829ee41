package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// reserveName is the file in the data directory that holds the reserve.
const reserveName = "reserve"

// ErrNoReserve is returned by Take while there is too little space for the reserve.
var ErrNoReserve = errors.New("too little space is left for the reserve")

// Reserve is disk space that is kept for the time when the disk is full. A file occupies it until
// Release.
type Reserve struct {
	path string
	size int64

	mu   sync.Mutex
	held bool
}

// Reserve returns the directory's reserve, which is not held yet. One of 0 bytes is always held and
// releases nothing.
func (d *Dir) Reserve(size int64) *Reserve {
	return &Reserve{path: filepath.Join(d.Path, reserveName), size: size}
}

// Take occupies the space, unless it is held already. It requires a margin of an eighth, so that a
// new reserve is not needed again at once; with less space left it returns ErrNoReserve.
func (r *Reserve) Take() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held {
		return nil
	}
	err := r.occupy()
	r.held = err == nil
	if err != nil && !errors.Is(err, ErrNoReserve) {
		return fmt.Errorf("reserve %d bytes in %s: %w", r.size, r.path, err)
	}
	return err
}

func (r *Reserve) occupy() error {
	info, err := os.Lstat(r.path)
	if err == nil && info.Mode().IsRegular() && info.Size() == r.size && r.size > 0 {
		return Private(r.path) // an earlier process has occupied it
	}
	if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if r.size == 0 {
		return nil
	}
	if free, known := freeSpace(filepath.Dir(r.path)); known && free < r.size+r.size/8 {
		return ErrNoReserve
	}
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(allocate(f, r.size), f.Close()); err != nil {
		_ = os.Remove(r.path) // the first error says more
		if isFull(err) {
			return ErrNoReserve
		}
		return err
	}
	return nil
}

// Held reports whether the space is occupied.
func (r *Reserve) Held() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.held
}

// Release frees the space and reports whether it did: false if it is not held or could not be
// freed.
func (r *Reserve) Release() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.held || r.size == 0 || os.Remove(r.path) != nil {
		return false
	}
	r.held = false
	return true
}

// writeZeros occupies space on systems and file systems that cannot allocate it otherwise.
func writeZeros(f *os.File, size int64) error {
	zeros := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(zeros)) {
		if _, err := f.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at); err != nil {
			return err
		}
	}
	return f.Sync()
}
