package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/store"
)

const (
	// rivalLimit bounds the requests of one search to one address.
	rivalLimit = 2 * time.Second
	// rivalTries is how many requests a search sends to one address, each over its own connection:
	// a load balancer passes them to different controllers.
	rivalTries = 3
	// rivalMemory is after how many intervals without an answer a rival counts as gone.
	rivalMemory = 10
	// rivalEvery is how often INFRA_FAILURE is emitted while a rival answers.
	rivalEvery = 24 * time.Hour
)

// rivals looks for controllers that answer at this controller's own address with another store.
// Such a controller runs the same jobs a second time. Searching sends no secrets, and has no effect
// on work: both controllers only report what they have seen.
type rivals struct {
	own       api.Identity
	addresses []announced
	client    *http.Client
	limit     time.Duration // of one search of one address
	memory    time.Duration
	logger    *slog.Logger

	mu    sync.Mutex
	seen  map[string]rival  // by address
	wrong map[string]string // why an address could not be asked
}

// announced is an address of this controller that its settings name.
type announced struct {
	setting string
	url     *url.URL
}

// String names the address without its path, which may contain a token.
func (a announced) String() string { return a.setting + " (" + a.url.Scheme + "://" + a.url.Host + ")" }

// rival is another controller with another store.
type rival struct {
	since, last time.Time
	same        bool // it has the same pipelines
}

// newRivals returns a search of the addresses that the settings name.
func (c *controller) newRivals(ctx context.Context, guard *egress.Guard) (*rivals, error) {
	r := &rivals{logger: c.logger, limit: rivalLimit, memory: rivalMemory * c.file.Watchdog.Interval.D(), seen: map[string]rival{}, wrong: map[string]string{}}
	r.own = api.Identity{Store: randomBytes(), Pipelines: pipelinesDigest(c.catalog)}
	if c.store.shared {
		key, err := cursorKey(ctx, c.store)
		if err != nil {
			return nil, err
		}
		derived := sha256.Sum256(append([]byte("identity "), key...))
		r.own.Store = derived[:]
	} // any other controller has another embedded store, also if its volume is a copy of this one's
	for _, a := range []struct{ setting, url string }{{"callbackURL", c.file.CallbackURL}, {"alerts.baseURL", c.file.Alerts.BaseURL}} {
		u, err := url.Parse(a.url)
		if err != nil || u.Host == "" || len(r.addresses) > 0 && r.addresses[0].url.String() == u.String() {
			continue
		}
		if guard, err = guard.With(u.Hostname()); err != nil {
			return nil, fmt.Errorf("%s: %w", a.setting, err)
		}
		r.addresses = append(r.addresses, announced{a.setting, u})
	}
	r.client = guard.Client(r.limit)
	return r, nil
}

// pipelinesDigest returns a function that returns a digest of the active pipeline files. It is
// computed once for each set of files.
func pipelinesDigest(c *catalog.Catalog) func() string {
	var mu sync.Mutex
	var of *catalog.Snapshot
	var digest string
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		if now := c.Current(); now != of {
			h := sha256.New()
			for _, e := range now.All() {
				fmt.Fprintf(h, "%s %s\n", e.ID, e.Version)
			}
			of, digest = now, hex.EncodeToString(h.Sum(nil))
		}
		return digest
	}
}

// committer is the part of a store to which a search reports.
type committer interface {
	store.Committer
	store.Marks
}

// search asks the addresses once, and reports what it finds.
func (r *rivals) search(ctx context.Context, to committer, now time.Time) error {
	var failed []error
	for _, a := range r.addresses {
		answer, err := r.find(ctx, a)
		was, is := r.note(a, answer, err, now)
		switch {
		case answer.rival:
			message := is.message(a)
			r.logger.Error("another controller with another store answers at this controller's address", "address", a.String(), "problem", message)
			failed = append(failed, emitRival(ctx, to, message, now))
		case was && is == nil:
			r.logger.Info("no controller with another store answers any more", "address", a.String())
		}
	}
	return errors.Join(failed...)
}

// emitRival emits INFRA_FAILURE, unless a replica on this store has done so within rivalEvery.
func emitRival(ctx context.Context, to committer, message string, now time.Time) error {
	const which = "otherStore"
	about := event.About{Which: which + "/" + period.Exact(now), At: now}
	_, err := store.EmitOnce(ctx, to, which, now.Add(rivalEvery), event.New(event.InfraFailure, about, message, event.Infra{Error: message}), now)
	return err
}

// note records what an address answered. It returns whether a rival was known there, and the one
// that is known now; nil if there is none.
func (r *rivals) note(a announced, answer answered, err error, now time.Time) (was bool, is *rival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.wrong, a.setting)
	if err != nil {
		r.wrong[a.setting] = err.Error()
	}
	known, was := r.seen[a.setting]
	switch {
	case answer.rival:
		if !was {
			known.since = now
		}
		known.last, known.same = now, answer.same
		r.seen[a.setting] = known
	case !was:
		return false, nil
	case now.Sub(known.last) >= r.memory:
		delete(r.seen, a.setting)
		return true, nil
	}
	return was, &known
}

// message says what a rival means.
func (v *rival) message(a announced) string {
	if v.same {
		return fmt.Sprintf("another controller with the same pipelines and another store answers at %s: both start every job; stop one of them, or give both the same store", a)
	}
	return fmt.Sprintf("another controller with other pipelines and another store answers at %s: readings and job results sent there may reach the wrong one; correct the address, or give both the same store", a)
}

// answered says which controller answered.
type answered struct {
	rival bool // one with another store
	same  bool // it has the same pipelines
}

// find asks an address until a controller with another store answers, at most rivalTries times.
func (r *rivals) find(ctx context.Context, a announced) (answered, error) {
	ctx, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	for range rivalTries {
		nonce := hex.EncodeToString(randomBytes())
		own := r.own.Prove(nonce)
		got, err := r.ask(ctx, a, nonce)
		if err != nil {
			return answered{}, err
		}
		if got.Store != own.Store {
			return answered{rival: true, same: got.Pipelines == own.Pipelines}, nil
		}
	}
	return answered{}, nil
}

// ask returns an address's proof for a nonce. Its errors contain no URL, whose path may contain a
// token.
func (r *rivals) ask(ctx context.Context, a announced, nonce string) (api.Proof, error) {
	u := a.url.JoinPath(api.IdentityPath)
	u.RawQuery = url.Values{"nonce": {nonce}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return api.Proof{}, errors.New("cannot be asked: it is not a URL")
	}
	req.Close = true // so that the next request may reach another controller
	resp, err := r.client.Do(req)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if err != nil {
		return api.Proof{}, fmt.Errorf("does not answer: %w", err)
	}
	defer resp.Body.Close()
	var p api.Proof
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return p, fmt.Errorf("does not answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK || json.Unmarshal(body, &p) != nil || !isProof(p.Store) || !isProof(p.Pipelines) {
		return p, fmt.Errorf("is not answered by a controller of this version: status %d", resp.StatusCode)
	}
	return p, nil
}

// isProof reports whether text has the form of a proof's parts.
func isProof(text string) bool {
	sum, err := hex.DecodeString(text)
	return err == nil && len(sum) == sha256.Size
}

// check returns what /readyz says. A rival does not make the controller unready: then neither of
// the two would be sent readings any more, and both would still start the jobs that are due.
func (r *rivals) check() []client.HealthCheck {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var checks []client.HealthCheck
	for _, a := range r.addresses {
		check := client.HealthCheck{Name: "other stores", OK: true, Detail: "none answers at " + a.String()}
		if v, seen := r.seen[a.setting]; seen {
			check.OK, check.Detail = false, fmt.Sprintf("since %s, last seen at %s: %s", period.Stamp(v.since), period.Stamp(v.last), v.message(a))
		} else if why := r.wrong[a.setting]; why != "" {
			check.Detail = a.String() + " " + why + "; so whether another store answers there is unknown"
		}
		checks = append(checks, check)
	}
	return checks
}

// gauge is 1 while a rival is known.
func (r *rivals) gauge() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return float64(min(len(r.seen), 1))
}
