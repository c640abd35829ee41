package command

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/job"
)

func TestAMessageEndsWithTheLastLineThatWasPrinted(t *testing.T) {
	for output, want := range map[string]string{
		"": "exit code 1", " \n\n": "exit code 1", "a\nb": "exit code 1, b", "a\nb  \r\n \n": "exit code 1, b", "50%\r100%\rdone": "exit code 1, done",
		"x" + strings.Repeat("ä", 400): "exit code 1, x" + strings.Repeat("ä", 149) + "…",
	} {
		if got := (exit{Code: 1}).status(job.Redactor{}, output).Message; got != want {
			t.Errorf("%q: got %q, want %q", output, got, want)
		}
	}
}
