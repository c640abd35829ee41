package sqlite

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/interlock-go/interlock/internal/store"
)

// The write-ahead log, as https://www.sqlite.org/fileformat2.html#the_write_ahead_log describes it.
const (
	walHeader      = 32
	walFrameHeader = 24
	walMagic       = 0x377f0682 // the lowest bit is set if checksums are big-endian
)

// checkReplay returns an error if SQLite would drop commits of the write-ahead log in silence,
// because they cannot be replayed. What follows the last commit, or is left of an earlier log, may
// be anything: at most one transaction was being written at a crash.
func checkReplay(path string) error {
	name := path + "-wal"
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return cannotOpen(name, err)
	}
	defer func() { _ = f.Close() }() // it is only read
	broken, err := unreadable(bufio.NewReaderSize(f, 1<<20), size(path+markSuffix) > 0)
	if err != nil {
		return fmt.Errorf("read the write-ahead log %s: %w", name, err)
	}
	if !broken {
		return nil
	}
	return &store.Fault{Kind: store.Damaged, Remedy: fmt.Sprintf("the write-ahead log %s cannot be replayed, "+
		"and it holds what was acknowledged last; put a good copy of it back, or restore a backup with interlock restore. "+
		"To go on without it, move it and %s away", name, path+markSuffix)}
}

// unreadable reports whether a log has commits that cannot be replayed. A log that is not clean may
// hold what is left of commits that failed, so that only its header can be judged.
func unreadable(log io.Reader, clean bool) (bool, error) {
	var head [walHeader]byte
	n, err := io.ReadFull(log, head[:])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil // nothing was committed yet
	}
	if err != nil {
		return false, err
	}
	c := checksum{order: binary.LittleEndian}
	if binary.BigEndian.Uint32(head[:]) == walMagic|1 {
		c.order = binary.BigEndian
	}
	c.add(head[:24])
	size := int(binary.BigEndian.Uint32(head[8:]))
	if binary.BigEndian.Uint32(head[:])&^1 != walMagic || !c.is(head[24:n]) || size < 512 || size > 65536 {
		more, err := io.CopyN(io.Discard, log, 1)
		if errors.Is(err, io.EOF) {
			err = nil // its header was being written, and no commit
		}
		return more > 0, err
	}
	if !clean {
		return false, nil
	}
	return lostCommits(log, c, size, head[16:24])
}

// lostCommits reports whether there are commits of this log after a frame that is damaged: more than
// the one that was being written at a crash.
func lostCommits(log io.Reader, c checksum, size int, salt []byte) (bool, error) {
	frame := make([]byte, walFrameHeader+size)
	after := 0
	for damaged := false; ; {
		_, err := io.ReadFull(log, frame)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return after > 1, nil
		}
		if err != nil {
			return false, err
		}
		same := string(frame[8:16]) == string(salt)
		if !damaged {
			c.add(frame[:8])
			c.add(frame[walFrameHeader:])
			damaged = !same || !c.is(frame[16:24])
		}
		if damaged && same && binary.BigEndian.Uint32(frame[4:]) != 0 {
			after++
		}
	}
}

// checksum is the running checksum of a log.
type checksum struct {
	order  binary.ByteOrder
	s1, s2 uint32
}

// add adds data, whose length is a multiple of eight.
func (c *checksum) add(data []byte) {
	for ; len(data) >= 8; data = data[8:] {
		c.s1 += c.order.Uint32(data) + c.s2
		c.s2 += c.order.Uint32(data[4:]) + c.s1
	}
}

// is reports whether the checksum is the stored one.
func (c *checksum) is(stored []byte) bool {
	return binary.BigEndian.Uint32(stored) == c.s1 && binary.BigEndian.Uint32(stored[4:]) == c.s2
}
