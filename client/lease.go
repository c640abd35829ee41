package client

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Lease is a claimed attempt: only its holder may run the job. It sends heartbeats until Finish.
type Lease struct {
	Claim
	Key RunKey

	c    *Client
	stop context.CancelFunc
	done sync.WaitGroup
	lost chan struct{}

	mu     sync.Mutex
	output func() string
	sent   string // the output sent with the last heartbeat
	why    error
}

// The timing of a lease.
const (
	slowestBeat = 30 * time.Second
	beatLimit   = 15 * time.Second // timeout of one heartbeat
	beatAgain   = 3 * time.Second  // wait after a failed heartbeat
	reportAgain = 10 * time.Second // longest wait between two tries to report
	settleLimit = 2 * time.Second
)

func newLease(c *Client, key RunKey, claim Claim) *Lease {
	ctx, stop := context.WithCancel(context.Background())
	l := &Lease{Claim: claim, Key: key, c: c, stop: stop, lost: make(chan struct{})}
	l.done.Go(func() { l.beat(ctx) })
	return l
}

// SendOutput sends the result of tail, the end of the job's output, with every heartbeat from now
// on.
func (l *Lease) SendOutput(tail func() string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.output = tail
}

// Lost is closed when the server reports that the caller no longer holds the attempt: it was given
// up or cancelled, or has a result. The job should stop. Why returns the reason.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Why returns the server's reason once Lost is closed.
func (l *Lease) Why() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}

// interval returns the interval between heartbeats: a third of the server's limit.
func (l *Lease) interval() time.Duration {
	every := time.Duration(l.HeartbeatSeconds) * time.Second / 3
	if every <= 0 {
		return slowestBeat // the server requires none; they still send the output and detect a cancelled run
	}
	return min(max(every, time.Second), slowestBeat)
}

// beat sends heartbeats until ctx ends or the attempt is lost.
func (l *Lease) beat(ctx context.Context) {
	timer := time.NewTimer(l.interval())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		err := l.beatOnce(ctx)
		next := l.interval()
		switch {
		case conflict(err):
			l.mu.Lock()
			l.why = err
			l.mu.Unlock()
			close(l.lost)
			return
		case err != nil:
			next = min(next, beatAgain)
			l.mu.Lock()
			l.sent = ""
			l.mu.Unlock()
		}
		timer.Reset(next)
	}
}

func (l *Lease) beatOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatLimit)
	defer cancel()
	_, err := l.c.Heartbeat(ctx, l.Key, l.newOutput(), Permit(l.Permit), l.trace())
	return err
}

// trace returns the option that makes a call part of the attempt's trace.
func (l *Lease) trace() CallOption {
	if l.Traceparent == nil {
		return Traceparent("")
	}
	return Traceparent(*l.Traceparent)
}

// newOutput returns the end of the output; "" if the last heartbeat has sent it.
func (l *Lease) newOutput() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.output == nil {
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
// reached until it answers, the attempt's deadline has passed, or ctx ends. A *Problem with status
// 409 means that the caller no longer held the attempt, and that the result changes nothing.
func (l *Lease) Finish(ctx context.Context, r JobReport) (JobReported, error) {
	defer l.done.Wait()
	defer l.stop()
	for wait := time.Second / 4; ; wait = min(2*wait, reportAgain) {
		done, err := l.c.Report(ctx, l.Key, r, Permit(l.Permit), l.trace())
		if err == nil {
			return l.settled(ctx, done), nil
		}
		if ctx.Err() != nil || final(err) || !time.Now().Before(l.Deadline) {
			return done, err
		}
		if interrupted := rest(ctx, wait); !errors.Is(interrupted, errAgain) {
			return done, err
		}
	}
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
		r, err := l.c.Run(ctx, l.Key)
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
