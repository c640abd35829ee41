package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

type outputInput struct {
	OfRun
	Attempt int    `query:"attempt" minimum:"0" maximum:"10000" doc:"Default: the latest."`
	Follow  string `query:"follow" doc:"Long poll: wait up to this long, such as 20s, at most 60s, for output after seen or the end of the job."`
	Seen    string `query:"seen" maxLength:"40" doc:"The seen value of the previous response."`
}

// outputPace is how often the output of a followed job is read. A command's output is stored once a
// second.
const outputPace = 500 * time.Millisecond

func (a *API) getOutput(ctx context.Context, in *outputInput) (*output[client.RunOutput], error) {
	key, p1 := in.key()
	wait, p2 := parseFollow(in.Follow)
	if p := cmp.Or(p1, p2); p != nil {
		return nil, p
	}
	pace := time.NewTicker(outputPace)
	defer pace.Stop()
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		out, err := a.outputOf(ctx, key, in.Attempt)
		if err != nil {
			return nil, err
		}
		if wait == 0 || out.Seen != in.Seen || !out.Running {
			return answer(out), nil
		}
		select {
		case <-pace.C:
			continue
		case <-ctx.Done():
		case <-a.closing.Done():
		case <-over.C:
		}
		return answer(out), nil
	}
}

// parseFollow parses how long a request for output waits for more.
func parseFollow(sent string) (time.Duration, *Problem) {
	if sent == "true" {
		return 30 * time.Second, nil
	}
	d, p := parseWait(sent)
	if p != nil {
		return 0, badRequest("follow %.60q is not a duration of at most 60s; write it like 20s", sent).at("query.follow", "not a duration of at most 60s")
	}
	return d, nil
}

// outputOf reads the output of an attempt: from its job while it runs, from the job log afterwards.
func (a *API) outputOf(ctx context.Context, key run.Key, attempt int) (client.RunOutput, error) {
	r, err := a.store.Run(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return client.RunOutput{}, a.noRun(ctx, key)
	}
	if err != nil {
		return client.RunOutput{}, fmt.Errorf("read run %s: %w", key, err)
	}
	if attempt == 0 {
		attempt = r.Attempt
	}
	if attempt < 1 || attempt > r.Attempt {
		return client.RunOutput{}, problem(http.StatusNotFound, unknownRun, "run %s has no attempt %d; its latest is %d", key, attempt, r.Attempt)
	}
	out := client.RunOutput{Pipeline: string(key.Pipeline), Schedule: string(key.Schedule), Date: key.Period.String(), Attempt: attempt, At: a.now().UTC()}
	if attempt == r.Attempt && r.Status == run.Running {
		out.Running = true
		out.Output, out.Live, err = a.liveOutput(ctx, r)
	} else {
		out.Output, err = a.keptOutput(ctx, key, attempt)
	}
	if err != nil {
		return out, err
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(out.Output)) // never fails
	out.Seen = strconv.FormatUint(hash.Sum64(), 36)
	return out, nil
}

// liveOutput returns the output of a running job so far: as its worker sent it, or as its job type
// reads it.
func (a *API) liveOutput(ctx context.Context, r run.Run) (string, bool, error) {
	if r.Claimed() {
		sent, err := a.sentOutput(ctx, r)
		return sent, err == nil, err
	}
	if a.tail == nil {
		return "", false, nil
	}
	text, known, err := a.tail(ctx, r)
	if err != nil {
		return "", false, fmt.Errorf("read the output of run %s: %w", r.Key, err)
	}
	return text, known, nil
}

// sentOutput returns the output that the worker of a claimed attempt has sent so far.
func (a *API) sentOutput(ctx context.Context, r run.Run) (string, error) {
	note, err := store.IfFound(a.store.Note(ctx, store.OutputNote, string(r.ID())))
	if err != nil {
		return "", fmt.Errorf("read the output of run %s: %w", r.Key, err)
	}
	return string(note.Data), nil
}

// keptOutput returns the output of an attempt from the job log.
func (a *API) keptOutput(ctx context.Context, key run.Key, attempt int) (string, error) {
	logs, err := a.store.JobLogs(ctx, []run.Key{key})
	if err != nil {
		return "", fmt.Errorf("read the job log of run %s: %w", key, err)
	}
	kept := ""
	for _, entry := range logs[key] {
		if entry.Attempt == attempt && entry.Output != "" {
			kept = entry.Output
		}
	}
	return kept, nil
}
