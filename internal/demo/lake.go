package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// lake is the directory of a project's data: layer/source/period.
type lake string

// The layers, and the files that each has for a minute.
const (
	bronze = "bronze" // records as they came, one JSON object a line
	silver = "silver" // valid records, as CSV
	gold   = "gold"   // one JSON object
)

var suffixes = map[string]string{bronze: ".jsonl", silver: ".csv", gold: ".json"}

// path returns the file of a period. Its name has no colon, which some file systems do not allow.
func (l lake) path(layer, source string, p period.Period) string {
	name := strings.ReplaceAll(p.String(), ":", "")
	return filepath.Join(string(l), layer, source, name+suffixes[layer])
}

// busy returns the marker file of a bronze file that is still being written.
func (l lake) busy(source string, p period.Period) string { return l.path(bronze, source, p) + ".busy" }

// write writes a file atomically.
func write(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", path, err)
	}
	fresh := path + ".new"
	if err := os.WriteFile(fresh, content, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(fresh))
	}
	return nil
}

// record is one observation of a source: a magnitude, or a change of price in percent.
type record struct {
	ID    string    `json:"id"`
	Time  time.Time `json:"time"`
	Name  string    `json:"name"`
	Value *float64  `json:"value"` // null if the instrument had none
}
