package archive

import (
	"encoding/json"
	"strings"
)

// replacement replaces job output that Postgres text cannot hold: invalid UTF-8, and the NUL character. Without it a
// single such line would block the archive forever.
const replacement = "\uFFFD"

// text returns s in a form that Postgres can store.
func text[T ~string](s T) string {
	valid := strings.ToValidUTF8(string(s), replacement)
	return strings.ReplaceAll(valid, "\x00", replacement)
}

// document returns v as JSON that Postgres can store.
func document(v any) (string, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return withoutZero(string(data)), nil
}

// withoutZero replaces escaped NUL characters. It skips escaped backslashes, which do not start an escape.
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
