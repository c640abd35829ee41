package main

import (
	"fmt"
	"sync"
	"time"
)

// progressPace is how often a terminal shows how long something has taken.
const progressPace = time.Second

// progress shows on a terminal that work is under way, how far it is if one can say, and for how long it has taken, from its
// second second on. In a pipe or a log it shows nothing. The caller ends it before it prints anything else.
func (a *app) progress(what string, far ...func() string) (end func()) {
	if !a.errTerminal {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	began := a.now()
	line := func() string {
		text := what + "…"
		for _, f := range far {
			if said := f(); said != "" {
				text += " " + said + ","
			}
		}
		return fmt.Sprintf("%s %s", text, a.now().Sub(began).Round(time.Second))
	}
	go func() {
		defer close(ended)
		shown := false
		for {
			select {
			case <-done:
				if shown {
					fmt.Fprint(a.stderr, "\r\x1b[K")
				}
				return
			case <-a.after(progressPace):
				shown = true
				fmt.Fprint(a.stderr, "\r\x1b[K"+line())
			}
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-ended
	})
}
