package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is how long the part of a key behind its prefix may be.
const maxName = 100

// maxPart is how long each part of a key is that has two of them.
const maxPart = 45

// keyName makes a name fit for a sensor's key: other characters become _, and a long name ends in a
// hash. It depends on the name alone, never on the names beside it.
func keyName(name string) string { return fitted(name, "._/-", maxName) }

// keyPart is keyName for a part of a key: it has no slash.
func keyPart(name string, most int) string { return fitted(name, "._-", most) }

func fitted(name, others string, most int) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(others, c) {
			b.WriteRune(c)
		} else if text := b.String(); text != "" && !strings.HasSuffix(text, "_") {
			b.WriteByte('_')
		}
	}
	out := strings.Trim(b.String(), "_")
	if len(out) <= most && out != "" {
		return out
	}
	return strings.TrimPrefix(out[:min(len(out), most-9)]+"-"+hash(name), "-")
}

// hash returns eight characters that stand for text.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
