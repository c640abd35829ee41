package archive

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// inArray and inLine escape the characters that are special in an array literal and in a COPY line.
var (
	inArray = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	inLine  = strings.NewReplacer(`\`, `\\`, "\n", `\n`, "\r", `\r`, "\t", `\t`)
)

// plain formats a column value as Postgres text. Times have microsecond precision.
func plain(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	case time.Time:
		return v.UTC().Format("2006-01-02T15:04:05.999999Z")
	default:
		panic(fmt.Sprintf("archive: a column cannot hold a %T", v))
	}
}

// arrays converts rows to one array literal per column.
func (r rows) arrays() [][]byte {
	arrays := make([][]byte, len(r.table.columns))
	for i := range arrays {
		array := []byte{'{'}
		for n, values := range r.rows {
			if n > 0 {
				array = append(array, ',')
			}
			if values[i] == nil {
				array = append(array, "NULL"...)
				continue
			}
			array = append(array, '"')
			array = append(array, inArray.Replace(plain(values[i]))...)
			array = append(array, '"')
		}
		arrays[i] = append(array, '}')
	}
	return arrays
}

// lines converts rows to COPY text format.
func (r rows) lines() []byte {
	var lines []byte
	for _, values := range r.rows {
		for i, value := range values {
			if i > 0 {
				lines = append(lines, '\t')
			}
			if value == nil {
				lines = append(lines, `\N`...)
				continue
			}
			lines = append(lines, inLine.Replace(plain(value))...)
		}
		lines = append(lines, '\n')
	}
	return lines
}

// replacement replaces job output that Postgres text cannot hold: invalid UTF-8, and the NUL
// character. Without it a single such line would block the archive forever.
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

// withoutZero replaces escaped NUL characters. It skips escaped backslashes, which do not start an
// escape.
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
