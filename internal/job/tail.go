package job

import "sync"

// OutputTail keeps the end of a job's output while the job prints it, and shows it without secrets.
// It is safe for concurrent use.
type OutputTail struct {
	secrets Redactor
	size    int // bytes to keep: enough to recognise a secret that is cut off at the beginning

	mu    sync.Mutex
	text  []byte // up to twice the size, so that it is moved rarely
	cut   bool   // something was dropped
	dirty bool   // something was written since the last call of Shown
}

// NewOutputTail returns an empty OutputTail that hides these secrets.
func NewOutputTail(secrets Redactor) *OutputTail {
	return &OutputTail{secrets: secrets, size: MaxOutput + secrets.Overlap()}
}

// Add appends output, and reports whether it is the first since the last call of Shown.
func (t *OutputTail) Add(text []byte) (first bool) {
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

// Shown returns the end, without secrets, at most MaxOutput bytes.
func (t *OutputTail) Shown() []byte {
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
	return []byte(shown[max(0, len(shown)-MaxOutput):])
}
