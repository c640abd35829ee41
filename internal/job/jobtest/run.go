package jobtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// Run checks every promise that applies to the bench.
func Run(t *testing.T, b Bench) {
	kind := b.New(t)
	_, finds := kind.(job.Finder)
	_, stops := kind.(job.Stopper)
	_, waits := kind.(job.Waiter)
	_, checks := kind.(job.Checker)
	_, blocks := kind.(job.Blocking)
	dedup, ok := kind.(job.Deduplicator)
	refuses := ok && dedup.RefusesRepeats()
	claims := []struct {
		name    string
		applies bool
		check   func(bed)
	}{
		{"StartsOnceUnderItsID", b.Good != "", startsOnce},
		{"StartedAgainIsAdopted", b.Good != "" && refuses, startedAgain},
		{"StartedAtOnceByManyIsStartedOnce", b.Good != "" && refuses, startedByMany},
		{"AnotherControllerFindsIt", b.Good != "" && finds, found},
		{"WhatNeverStartedIsNotFound", b.Good != "" && finds, notFound},
		{"ALostAnswerLosesNoJob", b.Good != "" && b.Lose != nil, lostAnswer},
		{"EveryEndHasItsOutcome", len(b.Ends) > 0, ends},
		{"WhatHasNotEndedRuns", len(b.Busy) > 0, busy},
		{"AnUndocumentedStateIsAnError", len(b.Undocumented) > 0, undocumented},
		{"ARefusalStartsNothing", len(b.Refused) > 0, refused},
		{"ACheckStartsNothing", b.Good != "" && checks, checked},
		{"ACheckSaysWhatIsWrong", len(b.Unfit) > 0, unfit},
		{"EveryCallCarriesItsCredentials", b.Good != "" && b.Wire != nil, authorised},
		{"NoSecretShows", b.Leaking != "", leaks},
		{"AFloodIsBounded", b.Flooding != "", flood},
		{"ACancelledStartReturns", b.Endless != "" && blocks, cancelledStart},
		{"ACancelledStartSaysSo", b.Good != "", cancelledBefore},
		{"ACancelledCallSaysSo", b.Good != "" && b.Wire != nil, cancelledCalls},
		{"ACancelledWaitReturns", b.Endless != "" && waits, cancelledWait},
		{"StopEndsTheJob", b.Endless != "" && stops, stop},
		{"ANonsenseHandleHasNoResult", b.Good != "", nonsense},
	}
	for _, c := range claims {
		if c.applies {
			t.Run(c.name, func(t *testing.T) { c.check(b.in(t)) })
		}
	}
}

func startsOnce(b bed) {
	a := b.attempt(b.Good)
	b.succeeds(a, b.start(a))
	b.starts(a, 1)
}

// succeeds checks that a started job ends well.
func (b bed) succeeds(a job.Attempt, started job.Started) {
	b.Helper()
	if status := b.end(a, started); status.Result != run.ResultSuccess {
		b.Errorf("got %+v", status)
	}
}

func startedAgain(b bed) {
	a := b.attempt(b.Good)
	first := b.start(a)
	again := b.start(a)
	b.end(a, first)
	b.Type = b.New(b.T)
	later := b.start(a)
	if again.Handle != first.Handle || later.Handle != first.Handle {
		b.Errorf("handles %q, %q and %q, want the same", first.Handle, again.Handle, later.Handle)
	}
	b.succeeds(a, later)
	b.starts(a, 1)
}

func startedByMany(b bed) {
	a := b.attempt(b.Good)
	const many = 8
	var all sync.WaitGroup
	for range many {
		kind := b.New(b.T)
		all.Go(func() {
			if _, err := kind.Start(b.ctx(), a); err != nil {
				b.Errorf("start: %v", err)
			}
		})
	}
	all.Wait()
	b.end(a, b.start(a))
	b.starts(a, 1)
}

func found(b bed) {
	a := b.attempt(b.Good)
	started := b.start(a)
	b.Type = b.New(b.T)
	handle, ok, err := b.Type.(job.Finder).Find(b.ctx(), a)
	if err != nil || !ok || handle != started.Handle {
		b.Fatalf("got %q, %v, %v; want %q", handle, ok, err, started.Handle)
	}
	b.succeeds(a, job.Started{Handle: handle})
}

func notFound(b bed) {
	handle, ok, err := b.Type.(job.Finder).Find(b.ctx(), b.attempt(b.Good))
	if err != nil || ok {
		b.Errorf("got %q, %v, %v", handle, ok, err)
	}
}

// lostAnswer makes a start whose answer is lost. It must not return a refusal, and every way to
// continue that the type offers must lead to the one existing job.
func lostAnswer(b bed) {
	a := b.attempt(b.Good)
	b.Lose(b.T)
	_, err := b.Start(b.ctx(), a)
	b.clean(err)
	if err == nil || refusal(err) != nil {
		b.Fatalf("got %v, want an error that leaves open whether the job started", err)
	}
	b.starts(a, 1)
	b.Type = b.New(b.T)
	if finder, ok := b.Type.(job.Finder); ok {
		handle, ok, err := finder.Find(b.ctx(), a)
		if err != nil || !ok {
			b.Fatalf("find: %v, %v", ok, err)
		}
		b.end(a, job.Started{Handle: handle})
	}
	if dedup, ok := b.Type.(job.Deduplicator); ok && dedup.RefusesRepeats() {
		b.end(a, b.start(a))
		b.starts(a, 1)
	}
}

func ends(b bed) {
	for _, end := range b.Ends {
		b.Run(end.Name, func(t *testing.T) {
			b := b.in(t)
			a := b.attempt(end.Config)
			got, want := b.end(a, b.start(a)), end.Want
			if !strings.Contains(got.Message, want.Message) || !strings.Contains(got.Output, want.Output) {
				t.Errorf("message %q, output %.200q; want %q and %q in them", got.Message, got.Output, want.Message, want.Output)
			}
			want.Done, want.Message, want.Output = true, got.Message, got.Output
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func refused(b bed) {
	for _, r := range b.Refused {
		b.Run(r.Name, func(t *testing.T) {
			b := b.in(t)
			a := b.attempt(r.Config)
			_, err := b.Start(b.ctx(), a)
			b.refusedAs(err, r.Want)
			b.starts(a, 0)
		})
	}
}

// refusedAs checks that err is that refusal.
func (b bed) refusedAs(err error, want job.Refusal) {
	b.Helper()
	b.clean(err)
	got := refusal(err)
	if got == nil {
		b.Fatalf("got %v; want a refusal", err)
	}
	if got.Category != want.Category || got.After != want.After || !strings.Contains(got.Reason, want.Reason) {
		b.Errorf("got %s after %s: %s; want %s after %s: %s", got.Category, got.After, got.Reason, want.Category, want.After, want.Reason)
	}
}

func leaks(b bed) {
	a := b.attempt(b.Leaking)
	started, err := b.Start(b.ctx(), a)
	b.clean(err)
	if err != nil {
		return
	}
	status := b.end(a, started)
	if status.Result == run.ResultSuccess || !strings.Contains(status.Output, "***") {
		b.Errorf("got %+v, want a failure in whose output the secret is hidden", status)
	}
	shown := fmt.Sprintf("%v %+v %v", a, a, started.Handle)
	if shows(shown) {
		b.Errorf("an attempt or handle shows a secret: %s", shown)
	}
}

func flood(b bed) {
	a := b.attempt(b.Flooding)
	if status := b.end(a, b.start(a)); status.Result != run.ResultSuccess || status.Output == "" {
		b.Errorf("got %s with %d bytes of output", status.Result, len(status.Output))
	}
}

func cancelledStart(b bed) {
	a := b.attempt(b.Endless)
	err := b.cancelled(func(ctx context.Context) error {
		_, err := b.Start(ctx, a)
		return err
	})
	if b.clean(err); err == nil {
		b.Errorf("a cancelled start succeeded")
	}
}

// cancelled returns the error of a call that is cancelled while it runs.
func (b bed) cancelled(call func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(b.ctx())
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	cancel()
	select {
	case err := <-done:
		return err
	case <-b.ctx().Done():
		b.Fatal("the call did not return")
		return nil
	}
}

func cancelledBefore(b bed) {
	ctx, cancel := context.WithCancel(b.ctx())
	cancel()
	a := b.attempt(b.Good)
	_, err := b.Start(ctx, a)
	b.clean(err)
	if err == nil {
		b.Fatal("a cancelled start succeeded")
	}
	if refusal(err) != nil {
		b.starts(a, 0)
	}
}

func cancelledWait(b bed) {
	a := b.attempt(b.Endless)
	started := b.start(a)
	err := b.cancelled(func(ctx context.Context) error { return b.Type.(job.Waiter).Wait(ctx, a, started.Handle) })
	if !errors.Is(err, context.Canceled) {
		b.Errorf("got %v", err)
	}
	if s, ok := b.Type.(job.Stopper); ok {
		if err := s.Stop(b.ctx(), a, started.Handle); err != nil {
			b.Error(err)
		}
		b.end(a, started)
	}
}

func stop(b bed) {
	a := b.attempt(b.Endless)
	started := b.start(a)
	if status, err := b.Status(b.ctx(), a, started.Handle); err != nil || status.Done {
		b.Errorf("before: got %+v, %v", status, err)
	}
	b.Type = b.New(b.T)
	stopper := b.Type.(job.Stopper)
	for range 2 {
		if err := stopper.Stop(b.ctx(), a, started.Handle); err != nil {
			b.Fatal(err)
		}
	}
	if status := b.end(a, started); status.Result != run.ResultFail {
		b.Errorf("got %+v", status)
	}
	if err := stopper.Stop(b.ctx(), a, started.Handle); err != nil {
		b.Errorf("stopped again: %v", err)
	}
}

func nonsense(b bed) {
	for _, handle := range []run.Handle{"", "nonsense", "../../etc/passwd"} {
		if status, err := b.Status(b.ctx(), b.attempt(b.Good), handle); status.Done {
			b.Errorf("%q: got %+v, %v", handle, status, err)
		}
	}
}
