package jobtest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// role is a call about a job other than Start, reduced to one error: nil means that the target
// answered and was understood.
type role struct {
	name string
	call func(ctx context.Context, a job.Attempt, h run.Handle) error
}

// errNothing means that the call found no job.
var errNothing = errors.New("the call says that there is no job")

// roles returns the roles of the bed's type, each checked for secrets in its results.
func (b bed) roles() []role {
	roles := []role{{"Status", func(ctx context.Context, a job.Attempt, h run.Handle) error {
		status, err := b.Status(ctx, a, h)
		if b.cleanStatus(status); err != nil && status.Done {
			b.Errorf("got %+v together with %v", status, err)
		}
		return err
	}}}
	if finder, ok := b.Type.(job.Finder); ok {
		roles = append(roles, role{"Find", func(ctx context.Context, a job.Attempt, _ run.Handle) error {
			_, found, err := finder.Find(ctx, a)
			if err == nil && !found {
				return errNothing
			}
			return err
		}})
	}
	if checker, ok := b.Type.(job.Checker); ok {
		roles = append(roles, role{"Check", func(ctx context.Context, a job.Attempt, _ run.Handle) error {
			err := checker.Check(ctx, a)
			if errors.As(err, new(*job.Unsure)) {
				b.clean(err)
				return nil
			}
			return err
		}})
	}
	if stopper, ok := b.Type.(job.Stopper); ok {
		roles = append(roles, role{"Stop", stopper.Stop})
	}
	return roles
}

// authorised makes every call and checks the requests that reached the target.
func authorised(b bed) {
	a := b.attempt(b.Good)
	before := len(b.Wire.Calls())
	started := b.start(a)
	b.authorisedSince(before, "Start")
	for _, r := range b.roles() {
		before := len(b.Wire.Calls())
		if err := r.call(b.ctx(), a, started.Handle); err != nil && !errors.Is(err, job.ErrUnknownHandle) {
			b.Errorf("%s: %v", r.name, err)
		}
		b.authorisedSince(before, r.name)
	}
}

func (b bed) authorisedSince(n int, what string) {
	b.Helper()
	calls := b.Wire.Calls()[n:]
	if what == "Start" && len(calls) == 0 {
		b.Error("the start did not reach the target over the recorded wire")
	}
	for _, call := range calls {
		if !b.Authorised(call) {
			b.Errorf("%s sent %s %s without its credentials", what, call.Method, call.URI)
		}
		if shows(call.URI) {
			b.Errorf("%s sent a secret in its URL: %s", what, call.URI)
		}
	}
}

// cancelledCalls makes every call with a cancelled context.
func cancelledCalls(b bed) {
	a := b.attempt(b.Good)
	started := b.start(a)
	ctx, cancel := context.WithCancel(b.ctx())
	cancel()
	for _, r := range b.roles() {
		if err := r.call(ctx, a, started.Handle); err == nil {
			b.Errorf("%s with a cancelled context succeeded", r.name)
		}
	}
}

func busy(b bed) {
	b.statuses(b.Busy, func(t *testing.T, status job.Status, err error) {
		if err != nil || status.Done {
			t.Errorf("got %+v, %v; want a job that runs", status, err)
		}
	})
}

// undocumented checks that an unknown state counts neither as an end nor as running.
func undocumented(b bed) {
	b.statuses(b.Undocumented, func(t *testing.T, status job.Status, err error) {
		if err == nil || errors.Is(err, job.ErrUnknownHandle) || status.Done || !strings.Contains(err.Error(), "unknown state") {
			t.Errorf("got %+v, %v; want an error that names the state", status, err)
		}
	})
}

// statuses starts each of the jobs and checks its status.
func (b bed) statuses(configs map[string]string, check func(*testing.T, job.Status, error)) {
	for name, config := range configs {
		b.Run(name, func(t *testing.T) {
			b := b.in(t)
			a := b.attempt(config)
			status, err := b.Status(b.ctx(), a, b.start(a).Handle)
			b.clean(err)
			b.cleanStatus(status)
			check(t, status, err)
		})
	}
}

// checked makes sure that Check starts nothing.
func checked(b bed) {
	a := b.attempt(b.Good)
	for _, r := range b.roles() {
		if r.name != "Check" {
			continue
		}
		if err := r.call(b.ctx(), a, ""); err != nil {
			b.Errorf("got %v for a job that ends well", err)
		}
	}
	b.starts(a, 0)
}

func unfit(b bed) {
	for _, r := range b.Unfit {
		b.Run(r.Name, func(t *testing.T) {
			b := b.in(t)
			a := b.attempt(r.Config)
			b.refusedAs(b.Type.(job.Checker).Check(b.ctx(), a), r.Want)
			b.starts(a, 0)
		})
	}
}
