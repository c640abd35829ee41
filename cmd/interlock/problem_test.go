package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-go/interlock/internal/document"
)

func unpainted(s string) string { return s }

func TestCaretStandsUnderTheColumn(t *testing.T) {
	tests := []struct {
		name   string
		line   string
		column int
		want   string
	}{
		{"plain", "  crn: x", 3, "    7 |   crn: x\n      |   ^\n"},
		{"first column", "crn: x", 1, "    7 | crn: x\n      | ^\n"},
		{"behind the end", "id:", 4, "    7 | id:\n      |    ^\n"},
		{"far behind the end", "id:", 40, "    7 | id:\n      |    ^\n"},
		{"a tab stays a tab", "\tid:\tx", 6, "    7 | \tid:\tx\n      | \t   \t^\n"},
		{"umlauts are one cell", "größe: x", 8, "    7 | größe: x\n      |        ^\n"},
		{"ideographs are two cells", "日本: x", 5, "    7 | 日本: x\n      |       ^\n"},
		{"emoji are two cells", "🙂: x", 4, "    7 | 🙂: x\n      |     ^\n"},
		{"combining marks take no cell", "e\u0301: x", 5, "    7 | e\u0301: x\n      |    ^\n"},
		{"control characters do not reach the terminal", "a\x1b[31m: x", 9, "    7 | a\uFFFD[31m: x\n      |         ^\n"},
		{"an empty line is not shown", "", 1, ""},
		{"a blank line is not shown", " \t ", 1, ""},
		{"a problem without a place shows nothing", "id: x", 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, snippet(tt.line, 7, tt.column, unpainted, unpainted)); diff != "" {
				t.Errorf("snippet (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALongLineIsCutAroundTheColumn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		column := rapid.IntRange(1, 5000).Draw(t, "column")
		line := []rune(strings.Repeat("a", 5000))
		line[column-1] = 'X'
		got := strings.Split(snippet(string(line), 1, column, unpainted, unpainted), "\n")
		if n := len([]rune(got[0])); n > snippetRunes+20 {
			t.Fatalf("the line shown has %d characters", n)
		}
		// Cutting may put an ellipsis over the first or last character only.
		at := strings.Index(got[1], "^")
		if c := []rune(got[0])[at]; c != 'X' && c != '…' {
			t.Fatalf("caret under %q in\n%s\n%s", c, got[0], got[1])
		}
	})
}

func TestAnnotationsAreEscaped(t *testing.T) {
	tests := []struct {
		name    string
		problem document.Problem
		want    string
	}{
		{
			"plain",
			document.Problem{File: "a.yaml", Line: 3, Column: 5, Path: "schedule.cron", Message: "is wrong", Severity: document.Error},
			"::error file=a.yaml,line=3,col=5,title=schedule.cron::is wrong\n",
		},
		{
			"warning",
			document.Problem{File: "a.yaml", Line: 1, Column: 1, Path: "x", Message: "is odd", Severity: document.Warning},
			"::warning file=a.yaml,line=1,col=1,title=x::is odd\n",
		},
		{
			"properties",
			document.Problem{File: "50%,c:\r\n.yaml", Line: 1, Column: 1, Path: `tags["a:b,c"]`, Message: "m", Severity: document.Error},
			"::error file=50%25%2Cc%3A%0D%0A.yaml,line=1,col=1,title=tags[\"a%3Ab%2Cc\"]::m\n",
		},
		{
			"message",
			document.Problem{File: "a.yaml", Line: 1, Column: 1, Path: "x", Message: "100%: a,b\r\n::error::c", Severity: document.Error},
			"::error file=a.yaml,line=1,col=1,title=x::100%25: a,b%0D%0A::error::c\n",
		},
		{
			"without a path",
			document.Problem{File: "a.yaml", Line: 1, Column: 1, Message: "the file is empty", Severity: document.Error},
			"::error file=a.yaml,line=1,col=1,title=interlock validate::the file is empty\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var b strings.Builder
			writeAnnotations(&b, []document.Problem{tt.problem})
			if diff := cmp.Diff(tt.want, b.String()); diff != "" {
				t.Errorf("annotation (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSummaryCounts(t *testing.T) {
	problem := func(file string, s document.Severity) document.Problem {
		return document.Problem{File: file, Severity: s}
	}
	e, w := document.Error, document.Warning
	tests := []struct {
		want     string
		files    int
		problems []document.Problem
	}{
		{"5 files, no problems", 5, nil},
		{"1 file, no problems", 1, nil},
		{"1 error in 1 file", 1, []document.Problem{problem("a", e)}},
		{"2 warnings in 1 of 2 files", 2, []document.Problem{problem("a", w), problem("a", w)}},
		{"3 errors and 1 warning in 2 of 5 files", 5, []document.Problem{problem("a", e), problem("a", e), problem("b", e), problem("b", w)}},
	}
	for _, tt := range tests {
		if got := summary(tt.problems, tt.files); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
