package job

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/interlock-go/interlock/internal/run"
)

// MaxOutput is how much of a job's output a Status shows: its end.
const MaxOutput = 64 << 10

// maxLine is how much of somebody else's text goes into a message.
const maxLine = 300

// Tail is the end of a text that holds no secret, as a Status shows it.
func Tail(text string) string {
	return strings.ToValidUTF8(text[max(0, len(text)-MaxOutput):], "")
}

// Line is the first line of a text that is not blank, shortened, as it fits into a message.
func Line(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(strings.ToValidUTF8(line[:min(len(line), maxLine)], ""))
}

// hashedTail is how many digits of a hash a name ends in.
const hashedTail = 16

// Name is an attempt's id for targets that allow only letters, digits, - and _, and at most so many of them (no fewer than
// 17). It begins as the id does, and ends in a hash of it, so that no two attempts share one.
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
