package sim

import (
	"fmt"
	"io"
	"regexp"
	"time"
)

// tell writes a line of the trace, for people who read how a world went.
func (w *World) tell(format string, args ...any) {
	if w.trace == nil {
		return
	}
	trace(w.trace, w.Now(), w.steps, marks.ReplaceAllString(fmt.Sprintf(format, args...), "/…#"))
}

// marks are what each controller puts into the names of its starts, to tell them from those of all others. They are random
// and decide nothing.
var marks = regexp.MustCompile(`/[A-Z2-7]{26}#`)

func trace(to io.Writer, at time.Time, step int, line string) {
	_, _ = fmt.Fprintf(to, "%s %5d  %s\n", at.Format("2006-01-02 15:04:05.000"), step, line) // whoever reads it sees what is missing
}
