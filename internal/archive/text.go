package archive

import (
	"encoding/json"
	"strings"
)

// replacement stands for what a job printed and Postgres cannot hold: bytes that are no text, and the character 0.
// Without it a single such line would stop the archive for ever.
const replacement = "\uFFFD"

// text is s as Postgres can hold it.
func text[T ~string](s T) string {
	valid := strings.ToValidUTF8(string(s), replacement)
	return strings.ReplaceAll(valid, "\x00", replacement)
}

// document is v as JSON that Postgres can hold.
func document(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return withoutZero(string(data)), nil
}

// withoutZero replaces the escape of the character 0. A backslash that is itself escaped begins none.
func withoutZero(data string) string {
	const zero = `\u0000`
	if !strings.Contains(data, zero) {
		return data
	}
	var out strings.Builder
	for i := 0; i < len(data); i++ {
		switch {
		case strings.HasPrefix(data[i:], zero):
			out.WriteString(replacement)
			i += len(zero) - 1
		case data[i] == '\\':
			out.WriteString(data[i : i+2])
			i++
		default:
			out.WriteByte(data[i])
		}
	}
	return out.String()
}
