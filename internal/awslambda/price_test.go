package awslambda_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// update writes the table of prices anew.
var update = flag.Bool("update", false, "write the prices of docs/AWS-COST.md anew")

// priced is one line of a run's bill.
type priced struct {
	what       string
	n          float64
	perMillion float64 // USD, us-east-1
}

// callSeconds and callBytes are assumptions about a call of a function: how long it takes, and how much
// it logs, with the three lines of Lambda itself.
const (
	callSeconds = 0.1
	callBytes   = 600
	callGB      = 0.125
)

// bill returns what a run costs, by the prices that docs/AWS-COST.md lists.
func (s spent) bill() []priced {
	calls := 0
	for _, n := range s.called {
		calls += n
	}
	n := float64(calls)
	return []priced{
		{"Step Functions: state transitions", float64(s.states), 25},
		{"DynamoDB: write request units", s.units.Write, 0.625},
		{"DynamoDB: read request units", s.units.Read, 0.125},
		{"Lambda: requests", n, 0.20},
		{"Lambda: GB-seconds, arm64", n * callGB * callSeconds, 13.3334},
		{"EventBridge: events", float64(s.events), 1},
		{"Scheduler: calls", float64(s.fired), 1},
		{"CloudWatch Logs: KB", n * callBytes / 1000, 0.5},
	}
}

// table formats a bill as in the manual, and returns its total in USD per 1,000 runs.
func table(lines []priced) (text string, total float64) {
	text = "| Of one run | Counted | USD per million | USD per 1,000 runs |\n|---|---|---|---|\n"
	for _, l := range lines {
		costs := l.n * l.perMillion / 1000
		total += costs
		text += fmt.Sprintf("| %s | %s | %s | %.4f |\n", l.what, strconv.FormatFloat(math.Round(l.n*1000)/1000, 'f', -1, 64), strconv.FormatFloat(l.perMillion, 'f', -1, 64), costs)
	}
	return text + fmt.Sprintf("| all | | | %.2f |\n", total), total
}

const priceLimit = 0.85 // USD per 1,000 runs, at most

var pricePage = regexp.MustCompile(`(?s)\| Of one run \|.*?\| all \|[^\n]*\n`)

func checkPrice(t *testing.T, s spent) {
	t.Helper()
	text, total := table(s.bill())
	if total > priceLimit {
		t.Errorf("1,000 runs cost %.3f USD, want at most %.2f:\n%s", total, priceLimit, text)
	}
	const page = "../../docs/AWS-COST.md"
	written, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page, pricePage.ReplaceAll(written, []byte(text)), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	for _, l := range s.bill() {
		_, rest, _ := strings.Cut(string(written), "\n| "+l.what+" | ")
		said, _, _ := strings.Cut(rest, " |")
		// The sizes of rows depend on random ids, and so do their units, slightly.
		if n, err := strconv.ParseFloat(said, 64); err != nil || n < l.n*0.95 || n > l.n*1.05 {
			t.Errorf("%s says %q %s, counted %v", page, said, l.what, l.n)
		}
	}
}
