package artifact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// fieldAt returns the path of a value in valid JSON, such as results[3].status, by the offset at
// which the value ends or, for an object or a list, opens; "" is the whole. Package json reports
// that offset, but a path without the indexes of lists.
func fieldAt(data []byte, offset int64) string {
	path, _ := walk{json.NewDecoder(bytes.NewReader(data)), offset}.find("")
	return strings.TrimPrefix(path, ".")
}

// walk goes through JSON up to an offset.
type walk struct {
	*json.Decoder
	offset int64
}

// find returns the path of the wanted value, and whether it is at path or below.
func (w walk) find(path string) (string, bool) {
	open, err := w.Token()
	if err != nil || w.InputOffset() >= w.offset {
		return path, true
	}
	if open != json.Delim('[') && open != json.Delim('{') {
		return "", false
	}
	for n := 0; w.More(); n++ {
		step := fmt.Sprintf("[%d]", n)
		if open == json.Delim('{') {
			name, _ := w.Token()
			step = stepTo(fmt.Sprint(name))
		}
		if at, found := w.find(path + step); found {
			return at, true
		}
	}
	_, err = w.Token() // the closing bracket
	return path, err != nil
}

// plainName matches a name that needs no quotes in a path.
var plainName = regexp.MustCompile(`^\w+$`)

// stepTo returns the step of a path to a field.
func stepTo(name string) string {
	if plainName.MatchString(name) {
		return "." + name
	}
	return fmt.Sprintf("[%q]", name)
}
