package job

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"sync"

	"github.com/interlock-go/interlock/internal/run"
)

// MaxOutput is how much of a job's output a Status keeps: its end.
const MaxOutput = 64 << 10

// maxLine is how much of a target's text goes into a message.
const maxLine = 300

// Tail returns the end of a text without secrets, as a Status keeps it.
func Tail(text string) string {
	return strings.ToValidUTF8(text[max(0, len(text)-MaxOutput):], "")
}

// Line returns the first non-blank line of a text, shortened for a message.
func Line(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(strings.ToValidUTF8(line[:min(len(line), maxLine)], ""))
}

// hashedTail is how many digits of a hash a name ends in.
const hashedTail = 16

// Name returns an attempt's id for targets that allow only letters, digits, - and _, and at most
// the given number of them (no fewer than 17). It begins like the id and ends in a hash of it, so
// that no two attempts share a name.
func Name(id run.AttemptID, most int) string {
	legal := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, string(id))
	sum := sha256.Sum256([]byte(id))
	return legal[:min(len(legal), most-hashedTail-1)] + "-" + hex.EncodeToString(sum[:])[:hashedTail]
}

// JSON encodes a config value for a target, without escaping it for HTML.
func JSON(value any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}

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
