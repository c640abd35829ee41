package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progressPace is how often the elapsed time is updated.
const progressPace = time.Second

// progress shows on a terminal that work is in progress: how far it is, unless far returns "", and
// the elapsed time, once it has taken a second. It shows nothing in a pipe or a log. The caller
// must call end before printing anything else, unless it prints through a statusLine.
func (a *app) progress(what string, far func() string) (end func()) {
	if !a.errTerminal {
		return func() {}
	}
	status, ok := a.stderr.(*statusLine)
	if !ok {
		status = &statusLine{out: a.stderr}
	}
	done := make(chan struct{})
	var ended sync.WaitGroup
	began := a.now()
	line := func() string {
		text := what + "…"
		if part := far(); part != "" {
			text += " " + part + ","
		}
		return fmt.Sprintf("%s %s", text, a.now().Sub(began).Round(time.Second))
	}
	ended.Go(func() {
		for {
			select {
			case <-done:
				status.show("")
				return
			case <-a.after(progressPace):
				status.show(line())
			}
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		ended.Wait()
	})
}

// statusLine is a terminal whose last line shows a status. Text written to it replaces that line.
type statusLine struct {
	mu    sync.Mutex
	out   io.Writer
	shown bool
}

const clearLine = "\r\x1b[K"

// show replaces the status; "" removes it.
func (l *statusLine) show(status string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown || status != "" {
		fmt.Fprint(l.out, clearLine+status)
	}
	l.shown = status != ""
}

func (l *statusLine) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shown {
		fmt.Fprint(l.out, clearLine)
		l.shown = false
	}
	return l.out.Write(text)
}
