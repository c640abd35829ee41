package demo

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/period"
)

var someMinute = period.At(time.Date(2026, 3, 3, 10, 15, 0, 0, time.UTC), period.Minute, time.UTC)

// work runs a job in a project with someMinute of bronze, and returns its exit code and output.
func work(t *testing.T, args ...string) (int, string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Job(args, &stdout, &stderr)
	return code, strings.TrimSpace(stdout.String() + stderr.String())
}

// inProject makes the working directory a project with a minute of earthquakes in bronze.
func inProject(t *testing.T) *source {
	t.Helper()
	t.Chdir(t.TempDir())
	s := earthquakes(".", someMinute)
	if err := s.appendRecords(someMinute, s.records(someMinute)...); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSilverHasEachRecordOnceAndOnlyWithAValue(t *testing.T) {
	inProject(t)
	if code, said := work(t, "silver", "earthquakes", someMinute.String()); code != 0 || said != "kept 22 of 24 records" {
		t.Fatalf("exit code %d: %s", code, said)
	}
	text, err := os.ReadFile("silver/earthquakes/2026-03-03T1015.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	seen := map[string]bool{}
	for _, line := range lines[1:] {
		id, _, _ := strings.Cut(line, ",")
		if seen[id] || strings.HasSuffix(line, ",") {
			t.Errorf("a repeat, or without a value: %s", line)
		}
		seen[id] = true
	}
	if len(seen) != 22 {
		t.Errorf("%d records", len(seen))
	}
}

func TestGoldKnowsTheStrongest(t *testing.T) {
	s := inProject(t)
	if err := s.appendRecords(someMinute, s.lateRecord(someMinute, 1)); err != nil {
		t.Fatal(err)
	}
	work(t, "silver", "earthquakes", someMinute.String())
	if code, said := work(t, "gold", "earthquakes", someMinute.String()); code != 0 || said != "23 records, Valparaíso highest with 6.1" {
		t.Errorf("exit code %d: %s", code, said)
	}
	if _, err := os.Stat("gold/earthquakes/2026-03-03T1015.json"); err != nil {
		t.Error(err)
	}
}

func TestAJobThatIsDoneAgainMakesTheSameFile(t *testing.T) {
	inProject(t)
	var made [2][]byte
	for i := range made {
		work(t, "silver", "earthquakes", someMinute.String())
		var err error
		if made[i], err = os.ReadFile("silver/earthquakes/2026-03-03T1015.csv"); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(made[0]), string(made[1])); diff != "" {
		t.Error(diff)
	}
}

func TestAFileThatIsStillWrittenIsWorthAnotherTry(t *testing.T) {
	s := inProject(t)
	if err := write(s.lake.busy(s.name, someMinute), nil); err != nil {
		t.Fatal(err)
	}
	if code, said := work(t, "silver", "earthquakes", someMinute.String()); code != 75 {
		t.Errorf("exit code %d: %s", code, said)
	}
}

func TestWhatNoTryCanMendIsSaidSo(t *testing.T) {
	inProject(t)
	at := someMinute.String()
	for _, args := range [][]string{
		{},
		{"silver"},
		{"silver", "earthquakes", "noon"},
		{"silver", at},
		{"copper", "earthquakes", at},
		{"silver", "floods", at},
		{"gold", "earthquakes", at},
		{"rates", "usd", at},
	} {
		if code, said := work(t, args...); code != 2 || said == "" {
			t.Errorf("%q: exit code %d: %s", args, code, said)
		}
	}
}

func TestRatesAreWrittenDown(t *testing.T) {
	t.Chdir(t.TempDir())
	if code, said := work(t, "rates", someMinute.String()); code != 0 || !strings.HasPrefix(said, "a dollar is 0.") {
		t.Errorf("exit code %d: %s", code, said)
	}
	if _, err := os.Stat("bronze/rates/2026-03-03T1015.jsonl"); err != nil {
		t.Error(err)
	}
}
