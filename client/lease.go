package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Lease is a claimed attempt: only its holder may run the job. It sends heartbeats until Finish.
type Lease struct {
	Claim
	Key RunKey

	c     *Client
	grace time.Duration
	stop  context.CancelFunc
	done  sync.WaitGroup
	lost  chan struct{}

	mu     sync.Mutex
	output func() string
	sent   string     // the output sent with the last heartbeat
	acked  *stopwatch // since the last acknowledged heartbeat was sent
	failed int        // heartbeats in a row without an acknowledgement
	why    error
}

// DefaultGrace is how long a job has to end after it was asked to, unless AcquireRequest says
// otherwise.
const DefaultGrace = 30 * time.Second

// The timing of a lease.
const (
	slowestBeat = 30 * time.Second
	beatAgain   = time.Second      // wait after a failed heartbeat
	reportAgain = 10 * time.Second // longest wait between two tries to report
	settleLimit = 2 * time.Second
	stopMargin  = 2 * time.Second // between the end of a silent worker's job and the end of its attempt
	watchEvery  = time.Second     // how often the silence of the server is measured
)

// newLease begins to send heartbeats; acked is since the claim was sent.
func newLease(c *Client, key RunKey, claim Claim, grace time.Duration, acked *stopwatch) *Lease {
	ctx, stop := context.WithCancel(context.Background())
	l := &Lease{Claim: claim, Key: key, c: c, grace: grace, stop: stop, lost: make(chan struct{}), acked: acked}
	l.done.Go(func() { l.beat(ctx) })
	if claim.OnSilence == OnSilenceStop {
		l.done.Go(func() { l.watchSilence(ctx) })
	}
	return l
}

// SendOutput sends the result of tail, the end of the job's output, with every heartbeat from now
// on.
func (l *Lease) SendOutput(tail func() string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.output = tail
}

// Lost is closed when the job must stop, within Grace: the server reports that the caller no longer
// holds the attempt, which was given up or cancelled, or has a result; or, with onSilence: stop, the
// server has been silent for so long that another worker may get the attempt soon. Why returns the
// reason. Nothing else closes it.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Why returns the reason once Lost is closed: the *Problem of the server, or a *SilenceError.
func (l *Lease) Why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// Grace returns how long the job has to end once Lost is closed, before it must be killed: the
// Grace of the request, but at most a third of the heartbeat limit.
func (l *Lease) Grace() time.Duration {
	grace := l.grace
	if grace == 0 {
		grace = DefaultGrace
	}
	if limit := l.limit(); limit > 0 {
		grace = min(grace, limit/3)
	}
	return max(grace, 0)
}

// SilenceError says that the server acknowledged no heartbeat for too long.
type SilenceError struct{ For time.Duration }

func (e *SilenceError) Error() string {
	return fmt.Sprintf("the server has acknowledged no heartbeat for %s, and may soon give the attempt to another worker (onSilence: stop)",
		e.For.Round(time.Second))
}

// lose closes Lost. Only the first reason counts.
func (l *Lease) lose(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		l.why = why
		close(l.lost)
	}
}

// limit returns how long the worker may be silent; 0 if forever.
func (l *Lease) limit() time.Duration { return time.Duration(l.HeartbeatSeconds) * time.Second }

// interval returns the interval between heartbeats: a third of the server's limit.
func (l *Lease) interval() time.Duration {
	every := l.limit() / 3
	if every <= 0 {
		return slowestBeat // the server requires none; they still send the output and detect a cancelled run
	}
	return min(max(every, time.Second), slowestBeat)
}

// beat sends heartbeats until ctx ends or the permit is no longer valid.
func (l *Lease) beat(ctx context.Context) {
	timer := time.NewTimer(l.interval())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		next := l.interval()
		switch err := l.beatOnce(ctx); {
		case permitOver(err):
			l.lose(err)
			return
		case err != nil:
			next = min(next, beatAgain)
		}
		timer.Reset(next)
	}
}

// beatOnce sends one heartbeat. It has half of the interval, so that another one fits in. One that
// follows a failed one has no output: a slow network may not carry it in time.
func (l *Lease) beatOnce(ctx context.Context) error {
	text, sent := l.newOutput(), startWatch()
	_, err := l.c.Heartbeat(ctx, l.Key, text, Permit(l.Permit), l.trace(), Within(min(max(l.interval()/2, time.Second), most)))
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed++
		l.sent = ""
		return err
	}
	l.failed, l.acked = 0, sent
	return nil
}

// permitOver reports whether the server says that the permit is no longer valid.
func permitOver(err error) bool {
	problem, ok := errors.AsType[*Problem](err)
	return ok && conflict(err) && (problem.Code == "done" || problem.Code == "lost")
}

// silence returns how long ago the last acknowledged heartbeat was sent.
func (l *Lease) silence() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acked.elapsed()
}

// watchSilence closes Lost once the server has been silent for so long that the job, given its
// grace, ends just before the attempt does. It measures often, because timers stand still while the
// machine is suspended.
func (l *Lease) watchSilence(ctx context.Context) {
	most := l.limit() - l.Grace() - stopMargin
	for {
		silent := l.silence()
		if silent >= most {
			l.lose(&SilenceError{silent})
			return
		}
		if !errors.Is(rest(ctx, min(most-silent, watchEvery)), errAgain) {
			return
		}
	}
}

// trace returns the option that makes a call part of the attempt's trace.
func (l *Lease) trace() CallOption {
	if l.Traceparent == nil {
		return Traceparent("")
	}
	return Traceparent(*l.Traceparent)
}

// newOutput returns the end of the output; "" if the last heartbeat has sent it, or every second time
// if heartbeats fail.
func (l *Lease) newOutput() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.output == nil || l.failed%2 == 1 {
		return ""
	}
	text := l.output()
	if text == l.sent {
		return ""
	}
	l.sent = text
	return text
}

// Finish reports the result of the job and ends the heartbeats. It retries a server that cannot be
// reached until it answers, the attempt is over, or ctx ends. A *Problem with status 409 means that
// the caller no longer held the attempt, and that the result changes nothing.
func (l *Lease) Finish(ctx context.Context, r JobReport) (JobReported, error) {
	defer l.done.Wait()
	defer l.stop()
	whole := r.Output
	for tries := 1; ; tries++ {
		done, err := l.c.Report(ctx, l.Key, r, Permit(l.Permit), l.trace(), Within(most))
		if err == nil {
			return l.settled(ctx, done), nil
		}
		if ctx.Err() != nil || final(err) || l.over() {
			return done, err
		}
		if interrupted := rest(ctx, backoff(time.Second/4, reportAgain, tries)); !errors.Is(interrupted, errAgain) {
			return done, err
		}
		if r.Output = whole; tries%2 == 1 {
			r.Output = "" // a slow network may not carry it in time
		}
	}
}

// over reports whether the server has ended the attempt, as far as the worker can know: its
// deadline has passed, its permit is no longer valid, or its job was stopped because the server was
// silent, and it has been for twice the limit.
func (l *Lease) over() bool {
	if !time.Now().Before(l.Deadline) {
		return true
	}
	why := l.Why()
	_, silence := errors.AsType[*SilenceError](why)
	return why != nil && (!silence || l.silence() >= 2*l.limit())
}

// settled waits a moment until the run shows the result, so that the caller's next request sees it.
// It is only a convenience: the result is stored.
func (l *Lease) settled(ctx context.Context, done JobReported) JobReported {
	ctx, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	for wait := 5 * time.Millisecond; done.Run.Status == Running && done.Run.Attempt == l.Attempt; wait *= 2 {
		if !errors.Is(rest(ctx, wait), errAgain) {
			break
		}
		r, err := l.c.Run(ctx, l.Key) // it ends with ctx
		if err != nil {
			break
		}
		done.Run = r.Run
	}
	return done
}

// OnSilence is what a worker does that cannot send heartbeats.
type OnSilence string

// The values of OnSilence.
const (
	OnSilenceContinue OnSilence = "continue"
	OnSilenceStop     OnSilence = "stop"
)

// Claim is a claimed attempt: the worker runs the job, sends heartbeats, and reports the result.
type Claim struct {
	RunID            string            `json:"runId" doc:"The attempt's id, which its job may use as an idempotency key."`
	Attempt          int               `json:"attempt"`
	Permit           string            `json:"permit" doc:"The bearer token for heartbeats and the result of this attempt only."`
	HeartbeatSeconds int64             `json:"heartbeatSeconds" doc:"After this many seconds without a heartbeat, the worker counts as lost. Send one at every third of this time. 0: no heartbeats are needed."`
	Deadline         time.Time         `json:"deadline" doc:"When the result must be reported at the latest (jobPollWindowSeconds). It never moves."`
	NextBy           *time.Time        `json:"nextBy" doc:"When the worker counts as lost without a heartbeat; null if none is needed."`
	Seq              int64             `json:"seq" doc:"The highest number of a heartbeat of this attempt so far; the next one must be higher."`
	OnSilence        OnSilence         `json:"onSilence" enum:"continue,stop" doc:"What to do when no heartbeat can be sent (job.config.onSilence). stop: end the command before nextBy."`
	Traceparent      *string           `json:"traceparent" doc:"The attempt's trace (W3C Trace Context), for the job to continue; null if tracing is off."`
	Env              map[string]string `json:"env" doc:"Environment variables for the job, including TRACEPARENT."`
	Worker           string            `json:"worker"`
	Run              Run               `json:"run"`
}

// Claim claims the offered attempt of a run whose job is external. Exactly one worker gets it; all
// others get a *Problem with status 409.
func (c *Client) Claim(ctx context.Context, key RunKey, worker string, options ...CallOption) (Claim, error) {
	return ask[Claim](ctx, c, post(key.path("claim"), struct {
		Worker string `json:"worker"`
	}{worker}), options)
}

// HeartbeatTaken says when the next heartbeat is due.
type HeartbeatTaken struct {
	RunID    string     `json:"runId"`
	Attempt  int        `json:"attempt"`
	NextBy   *time.Time `json:"nextBy" doc:"When the worker counts as lost without another heartbeat; null if none is needed."`
	Deadline time.Time  `json:"deadline" doc:"When the result must be reported at the latest. It never moves."`
	Seq      int64      `json:"seq" doc:"The highest number of a heartbeat of this attempt so far."`
}

// Beat is a heartbeat with everything that it can say.
type Beat struct {
	Output string // the end of the output, at most 64 KiB
	// NextWithin announces a silence that is longer than the heartbeat interval. It is granted until
	// the attempt's deadline at most; NextBy of the answer says how much.
	NextWithin time.Duration
	// Seq numbers the heartbeats of an attempt from 1 up, so that a delayed one changes nothing; 0: it
	// has no number.
	Seq int64
}

// Beat sends a heartbeat. It needs the Permit of the claim. A worker that has lost its attempt gets a
// *Problem with status 409.
func (c *Client) Beat(ctx context.Context, key RunKey, b Beat, options ...CallOption) (HeartbeatTaken, error) {
	body := struct {
		Output     string `json:"output,omitempty"`
		NextWithin string `json:"nextWithin,omitempty"`
		Seq        int64  `json:"seq,omitempty"`
	}{Output: b.Output, Seq: b.Seq}
	if b.NextWithin != 0 {
		body.NextWithin = b.NextWithin.String()
	}
	return ask[HeartbeatTaken](ctx, c, post(key.path("heartbeat"), body), options)
}

// Heartbeat reports that the worker of an attempt is alive, and sends the end of its output, at
// most 64 KiB: see Beat.
func (c *Client) Heartbeat(ctx context.Context, key RunKey, output string, options ...CallOption) (HeartbeatTaken, error) {
	return c.Beat(ctx, key, Beat{Output: output}, options...)
}
