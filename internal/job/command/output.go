//go:build unix

package command

import (
	"sync"
	"time"

	"github.com/interlock-go/interlock/internal/job"
)

const (
	// flushAfter is the maximum age of the output file while a command prints. If the keeper is
	// killed, only that file is left.
	flushAfter = time.Second
	// lastWords is how long output is still read after the whole group has ended: its output is in
	// the pipe already, but a process that left the group may hold the pipe open for ever.
	lastWords = 100 * time.Millisecond
)

// tail keeps the end of the text written to it.
type tail struct {
	secrets job.Redactor
	size    int // bytes to keep: enough to recognise a secret that is cut off at the beginning

	mu    sync.Mutex
	text  []byte // up to twice the size, so that it is moved rarely
	cut   bool   // something was dropped
	dirty bool   // something was written since the last flush
}

func newTail(secrets job.Redactor) *tail {
	return &tail{secrets: secrets, size: maxOutput + secrets.Overlap()}
}

// add appends output, and reports whether it is the first since the tail was last shown.
func (t *tail) add(text []byte) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	if len(t.text) > 2*t.size {
		t.text = append(t.text[:0], t.text[len(t.text)-t.size:]...)
		t.cut = true
	}
	first, t.dirty = !t.dirty, true
	return first
}

// shown returns the end, without secrets, at most maxOutput bytes.
func (t *tail) shown() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dirty = false
	text, cut := t.text, t.cut
	if len(text) > t.size {
		text, cut = text[len(text)-t.size:], true
	}
	begin := 0
	if cut {
		begin = min(t.secrets.Overlap(), len(text))
	}
	shown := t.secrets.Part(string(text), begin, len(text))
	return []byte(shown[max(0, len(shown)-maxOutput):])
}

// copyOutput reads the command's output as fast as it prints, and flushes the tail from time to
// time.
func (k *keeper) copyOutput() {
	defer close(k.copied)
	buffer := make([]byte, 32<<10)
	for total := int64(0); ; {
		n, err := k.printed.Read(buffer)
		if total += int64(n); k.Limits.Output > 0 && total > k.Limits.Output {
			k.exceed("printed more than %s (jobs.output in the server's file)", sizeText(k.Limits.Output))
		}
		if n > 0 && k.tail.add(buffer[:n]) {
			time.AfterFunc(flushAfter, k.flush)
		}
		if err != nil {
			return
		}
	}
}

// flush writes the tail to its file. Errors are ignored: the job's exit does not depend on it.
func (k *keeper) flush() {
	k.flushing.Lock()
	defer k.flushing.Unlock()
	k.write(outputFile, k.tail.shown(), false)
}

// finishOutput reads the rest and writes it to the file.
func (k *keeper) finishOutput() {
	k.printed.SetReadDeadline(time.Now().Add(lastWords))
	<-k.copied
	k.flush()
}
