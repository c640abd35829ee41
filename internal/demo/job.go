package demo

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
)

// JobCommand is the argument that makes a process of the binary a job of the project; see Job.
const JobCommand = "demo-job"

// errNotReady is the error of a job whose input is not ready.
var errNotReady = errors.New("try again later")

// The exit codes of a job.
const (
	exitDone     = 0
	exitBroken   = 2  // a retry is useless
	exitNotReady = 75 // retry later
)

// Job implements the project's jobs, in the project's directory: "silver SOURCE PERIOD", "gold
// SOURCE PERIOD" or "rates PERIOD". Each derives one file from others, always the same one, and
// prints one line about it. It returns the exit code.
func Job(args []string, stdout, stderr io.Writer) int {
	said, err := lake(".").work(args)
	switch {
	case errors.Is(err, errNotReady):
		fmt.Fprintln(stderr, err)
		return exitNotReady
	case err != nil:
		fmt.Fprintln(stderr, err)
		return exitBroken
	}
	fmt.Fprintln(stdout, said)
	return exitDone
}

func (l lake) work(args []string) (string, error) {
	if len(args) < 2 {
		return "", fmt.Errorf("%s needs a task and a period", JobCommand)
	}
	p, err := period.Parse(args[len(args)-1])
	switch {
	case err != nil:
		return "", err
	case args[0] == "silver" && len(args) == 3:
		return l.refine(args[1], p)
	case args[0] == "gold" && len(args) == 3:
		return l.sumUp(args[1], p)
	case args[0] == "rates" && len(args) == 2:
		return l.rates(p)
	}
	return "", fmt.Errorf("%s does not know %q", JobCommand, args)
}

// refine derives silver from bronze: each record once, and only with a value.
func (l lake) refine(source string, p period.Period) (string, error) {
	if _, err := os.Stat(l.busy(source, p)); err == nil {
		return "", fmt.Errorf("the bronze file is still being written: %w", errNotReady)
	}
	records, err := l.readBronze(source, p)
	if err != nil {
		return "", err
	}
	var text bytes.Buffer
	table := csv.NewWriter(&text)
	rows := [][]string{{"id", "time", "name", "value"}}
	known := map[string]bool{}
	for _, r := range records {
		if r.Value == nil || known[r.ID] {
			continue
		}
		known[r.ID] = true
		rows = append(rows, []string{r.ID, r.Time.Format(time.RFC3339), r.Name, strconv.FormatFloat(*r.Value, 'f', -1, 64)})
	}
	if err := table.WriteAll(rows); err != nil {
		return "", fmt.Errorf("write the records of %s: %w", p, err)
	}
	said := fmt.Sprintf("kept %d of %d records", len(rows)-1, len(records))
	return said, write(l.path(silver, source, p), text.Bytes())
}

func (l lake) readBronze(source string, p period.Period) ([]record, error) {
	f, err := os.Open(l.path(bronze, source, p))
	if err != nil {
		return nil, fmt.Errorf("read bronze: %w", err)
	}
	defer f.Close()
	var records []record
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("read record %d of %s: %w", len(records)+1, p, err)
		}
		records = append(records, r)
	}
	return records, lines.Err()
}

// minute is the gold summary of a minute.
type minute struct {
	Period      string  `json:"period"`
	Records     int     `json:"records"`
	Mean        float64 `json:"mean"`
	Highest     float64 `json:"highest"`
	HighestName string  `json:"highestName"`
}

// sumUp derives gold from silver.
func (l lake) sumUp(source string, p period.Period) (string, error) {
	f, err := os.Open(l.path(silver, source, p))
	if err != nil {
		return "", fmt.Errorf("read silver: %w", err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil || len(rows) < 2 {
		return "", errors.Join(fmt.Errorf("there are no records in silver for %s", p), err)
	}
	m := minute{Period: p.String(), Records: len(rows) - 1, Highest: math.Inf(-1)}
	for _, row := range rows[1:] {
		value, err := strconv.ParseFloat(row[3], 64)
		if err != nil {
			return "", fmt.Errorf("read record %s: %w", row[0], err)
		}
		m.Mean += value / float64(m.Records)
		if value > m.Highest {
			m.Highest, m.HighestName = value, row[2]
		}
	}
	m.Mean = math.Round(m.Mean*100) / 100
	said := fmt.Sprintf("%d records, %s highest with %g", m.Records, m.HighestName, m.Highest)
	return said, writeJSON(l.path(gold, source, p), m)
}

// rates writes the price of a dollar.
func (l lake) rates(p period.Period) (string, error) {
	_, m := p.Clock()
	euro := math.Round((0.9+0.002*math.Sin(float64(m)))*10000) / 10000
	return fmt.Sprintf("a dollar is %g euros", euro), writeJSON(l.path(bronze, "rates", p), map[string]any{"period": p.String(), "USDEUR": euro})
}

func writeJSON(path string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return write(path, append(text, '\n'))
}

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
