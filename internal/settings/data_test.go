package settings_test

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/settings"
)

func TestDataIsADirectoryOrHasAReserve(t *testing.T) {
	for text, want := range map[string]settings.Data{
		"{}":                                  {Dir: "./interlock-data", Reserve: 64 << 20},
		"data: ./here":                        {Dir: "./here", Reserve: 64 << 20},
		"data: {reserve: 0}":                  {Dir: "./interlock-data"},
		"data: {dir: ./here, reserve: 1GiB}":  {Dir: "./here", Reserve: 1 << 30},
		"data: {reserve: 10B}":                {Dir: "./interlock-data", Reserve: 10},
		"data: {dir: here, reserve: 4096}":    {Dir: "here", Reserve: 4096},
		"data: {dir: ./here, reserve: 3KiB }": {Dir: "./here", Reserve: 3 << 10},
	} {
		if f, problems := settings.Parse("", []byte(text)); len(problems) > 0 || f.Data != want {
			t.Errorf("%s is %+v, want %+v: %v", text, f.Data, want, problems)
		}
	}
	for text, want := range map[string]string{
		"data: [a]":                       "expected a directory, or dir and reserve, found a list",
		"data: {reserve: 64MB}":           "expected a size such as 64MiB",
		"data: {reserve: -1}":             "expected a size such as 64MiB",
		"data: {reserve: 1.5MiB}":         "expected a size such as 64MiB",
		"data: {reserve: 9999999999GiB}":  "expected a size such as 64MiB",
		"data: {dir: ./here, reserv: 64}": "reserv",
	} {
		if _, problems := settings.Parse("", []byte(text)); len(problems) != 1 || !strings.Contains(problems[0].String(), want) {
			t.Errorf("%s: %v", text, problems)
		}
	}
	if got := document.Size(64<<20).String() + " " + document.Size(1000).String() + " " + document.Size(0).String(); got != "64MiB 1000B 0" {
		t.Errorf("sizes are written %s", got)
	}
}
