package api

import (
	"fmt"
	"math"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// The limits, as the server's file names them.
const (
	limitKeys        = "sensorKeys"
	limitData        = "sensorBytes"
	limitRuns        = "openRuns"
	limitWrites      = "writeBytes"
	limitTokenWrites = "tokenWriteBytes"
)

const (
	readingOverhead = 256       // bytes that a reading counts besides its data: its key, times and source are stored too
	writeWindow     = time.Hour // over which written bytes are counted
	maxTokens       = 10_000    // tokens and users that are counted
)

// written counts what was written lately. Its level falls by a whole limit in an hour, so that a
// client that has written nothing for an hour may write as much as the limit at once.
type written struct {
	level bucket
	share share
}

// wait returns how long to wait until n more bytes fit; 0 if they fit now.
func (w *written) wait(n, limit int64, now time.Time) time.Duration {
	perSecond := float64(limit) / writeWindow.Seconds()
	w.level.drain(perSecond, now)
	over := max(w.level.level+float64(n)-float64(limit), 0)
	return time.Duration(math.Ceil(over/perSecond)) * time.Second
}

// write counts a reading of n bytes that a client writes to a pipeline, or returns the limit that
// it would exceed. undo reverses the count.
func (q *quotas) write(who principal, id pipeline.ID, n int, now time.Time) (undo func(), p *Problem) {
	size, u := int64(n)+readingOverhead, q.usage(id)
	q.mu.Lock()
	defer q.mu.Unlock()
	if wait := u.wait(size, q.WriteBytes, now); wait > 0 {
		return nil, q.tooMuch(limitWrites, "pipeline "+string(id), size, q.WriteBytes, wait)
	}
	t, p := q.charge(who, size, now)
	if p != nil {
		return nil, p
	}
	u.level.level += float64(size)
	q.used(&u.share, limitWrites, "pipeline", string(id), int64(u.level.level), q.WriteBytes)
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		u.level.level = max(u.level.level-float64(size), 0)
		t.level.level = max(t.level.level-float64(size), 0)
	}, nil
}

// charge counts bytes that a token writes. Jobs, and the clients of a server without tokens, have no
// name: only their pipelines count what they write. q.mu is held.
func (q *quotas) charge(who principal, size int64, now time.Time) (*written, *Problem) {
	if who.callback != "" || who.name == "" {
		return &written{}, nil
	}
	t := q.token(who.name, now)
	if wait := t.wait(size, q.TokenWriteBytes, now); wait > 0 {
		return nil, q.tooMuch(limitTokenWrites, fmt.Sprintf("token %q", who.name), size, q.TokenWriteBytes, wait)
	}
	t.level.level += float64(size)
	q.used(&t.share, limitTokenWrites, "token", who.name, int64(t.level.level), q.TokenWriteBytes)
	return t, nil
}

// token returns what a token or user has written. q.mu is held.
func (q *quotas) token(name string, now time.Time) *written {
	if t := q.tokens[name]; t != nil {
		return t
	}
	if len(q.tokens) >= maxTokens { // users of OpenID Connect come and go
		for other, t := range q.tokens {
			if now.Sub(t.level.at) > writeWindow {
				delete(q.tokens, other)
			}
		}
	}
	t := &written{}
	q.tokens[name] = t
	return t
}

// tooMuch returns the Problem of a write that would exceed the bytes of an hour.
func (q *quotas) tooMuch(limit, of string, n, most int64, wait time.Duration) *Problem {
	if n > most {
		return q.reached(limit, http.StatusRequestEntityTooLarge,
			"the request counts as %d bytes, and limits.%s allows %s in an hour; write less at once, or raise limits.%s in the server's file", n, limit, document.Size(most), limit)
	}
	return q.reached(limit, http.StatusTooManyRequests,
		"%s has written %s in the last hour, as much as limits.%s allows; try again in %s, write less, or raise limits.%s in the server's file", of, document.Size(most), limit, wait, limit).
		with("Retry-After", fmt.Sprint(int64(wait/time.Second)))
}

// reached counts a request that a limit rejects, and returns its Problem.
func (q *quotas) reached(limit string, status int, format string, args ...any) *Problem {
	q.rejected.WithLabelValues(limit).Inc()
	return problem(status, limitReached, format, args...)
}

// share is how much of a limit is used, from 0 to 1.
type share struct {
	bits   atomic.Uint64
	warned bool // guarded as the usage is
}

func (s *share) value() float64 { return math.Float64frombits(s.bits.Load()) }

// A limit is reported when nearLimit of it is used, and again after less than calmAgain was used.
const (
	nearLimit = 0.8
	calmAgain = 0.7
)

func near(used, most int) bool { return float64(used) >= nearLimit*float64(most) }

// used records how much of a limit is used, and logs a warning before the limit rejects requests.
func (q *quotas) used(s *share, limit, of, name string, used, most int64) {
	part := float64(used) / float64(most)
	s.bits.Store(math.Float64bits(part))
	switch {
	case part < calmAgain:
		s.warned = false
	case part >= nearLimit && !s.warned:
		s.warned = true
		q.logger.Warn("a limit is nearly reached; requests beyond it are rejected", "limit", "limits."+limit, of, name, "used", used, "allowed", most)
	}
}

// highest returns the largest share of each limit that a pipeline or token uses.
func (q *quotas) highest(now time.Time) map[string]float64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	high := map[string]float64{}
	drained := func(limit string, w *written, most int64) {
		w.wait(0, most, now)
		high[limit] = max(high[limit], w.level.level/float64(most))
	}
	for _, u := range q.of {
		high[limitKeys], high[limitData] = max(high[limitKeys], u.keys.value()), max(high[limitData], u.data.value())
		drained(limitWrites, &u.written, q.WriteBytes)
	}
	for _, t := range q.tokens {
		drained(limitTokenWrites, t, q.TokenWriteBytes)
	}
	return high
}

// register adds the metrics of the limits.
func (q *quotas) register(r *prometheus.Registry, now func() time.Time) {
	q.rejected = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "interlock_limit_rejections_total", Help: "Requests that a limit of a pipeline or token rejected, by limit.",
	}, []string{"limit"})
	r.MustRegister(q.rejected)
	for _, limit := range []string{limitKeys, limitData, limitRuns, limitWrites, limitTokenWrites} {
		q.rejected.WithLabelValues(limit)
		if limit == limitRuns {
			continue // only an upper bound of them is known here
		}
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "interlock_limit_used_ratio", Help: "How much of a limit is used, from 0 to 1, by the pipeline or token that uses most of it.",
			ConstLabels: prometheus.Labels{"limit": limit},
		}, func() float64 { return q.highest(now())[limit] }))
	}
}
