//go:build unix

package command

import "time"

const (
	// flushAfter is the maximum age of the output file while a command prints. If the keeper is
	// killed, only that file is left.
	flushAfter = time.Second
	// lastWords is how long output is still read after the whole group has ended: its output is in
	// the pipe already, but a process that left the group may hold the pipe open for ever.
	lastWords = 100 * time.Millisecond
)

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
		if n > 0 && k.tail.Add(buffer[:n]) {
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
	k.write(outputFile, keeperDraft, k.tail.Shown(), false)
}

// finishOutput reads the rest and writes it to the file.
func (k *keeper) finishOutput() {
	k.printed.SetReadDeadline(time.Now().Add(lastWords))
	<-k.copied
	k.flush()
}
