package attention

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/explain"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/store"
)

// files lists the files that are not active or cannot be read.
func (b *builder) files(ctx context.Context) error {
	for _, row := range b.rows {
		problems := row.Problems()
		if t, in := b.Catalog.TroubleOf(row.ID); in && row.Config != "" {
			problems = append(problems, t.Message)
		}
		if row.ID == store.AllPipelines || len(problems) == 0 {
			continue
		}
		since, err := b.rejectedAt(ctx, row.ID)
		if err != nil {
			return err
		}
		kind, severity := Degraded, event.Warning
		if row.Config == "" {
			kind, severity = Rejected, event.Critical
		}
		b.add(Item{Pipeline: row.ID, Kind: kind, Severity: severity, Reason: flawed(problems[0], len(problems)), Since: since, Action: b.fix(row.ID)})
	}
	if b.only == "" {
		b.strays()
	}
	return nil
}

// strays lists rejected files whose pipeline is unknown.
func (b *builder) strays() {
	for _, f := range b.Catalog.Files() {
		if !f.Refused || f.Pipeline != "" {
			continue
		}
		first, errors := "it was rejected", 0
		for _, p := range f.Problems {
			if p.Severity == document.Error {
				if errors++; errors == 1 {
					first = fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
				}
			}
		}
		kind, severity := Rejected, event.Critical
		if f.Version != "" {
			kind, severity = Degraded, event.Warning
		}
		b.add(Item{Kind: kind, Severity: severity, Reason: flawed(first, errors), Action: Action{"fix-file", "interlock validate " + f.Name}})
	}
}

func flawed(first string, n int) reason.Reason {
	if n > 1 {
		return reason.New("file", "{message} (and {more} more)", reason.Str("message", first), reason.Int("more", n-1))
	}
	return reason.New("file", "{message}", reason.Str("message", first))
}

// rejectedAt returns when the newest file of a pipeline was rejected; zero if that is not recorded.
func (b *builder) rejectedAt(ctx context.Context, id pipeline.ID) (time.Time, error) {
	page, err := b.Store.Events(ctx, store.EventQuery{Pipeline: id, Type: event.ConfigRejected, Limit: 1})
	if err != nil || len(page.Items) == 0 {
		return time.Time{}, err
	}
	return page.Items[0].Time, nil
}

// fix returns the action that shows what is wrong with a pipeline's file.
func (b *builder) fix(id pipeline.ID) Action {
	for _, f := range b.Catalog.Files() {
		if f.Pipeline == id {
			return Action{"fix-file", "interlock validate " + f.Name}
		}
	}
	return Action{"fix-file", "interlock status " + string(id)}
}

// undelivered lists the sinks that rejected alerts.
func (b *builder) undelivered(ctx context.Context) error {
	if b.only != "" {
		return nil
	}
	letters, err := b.Store.Dead(ctx, "")
	if err != nil {
		return fmt.Errorf("read dead letters: %w", err)
	}
	type rejected struct {
		first, last store.DeadLetter
		alerts      int
	}
	bySink := map[string]*rejected{}
	for _, d := range letters {
		r := bySink[d.Sink]
		if r == nil {
			r = &rejected{first: d}
			bySink[d.Sink] = r
		}
		r.last, r.alerts = d, r.alerts+max(d.Count, 1)
	}
	for sink, r := range bySink {
		why := reason.New("undelivered", "{count} undelivered to {sink}, which answered: {message}",
			reason.Str("count", plural(r.alerts, "alert")), reason.Str("sink", sink), reason.Str("message", r.last.Reason),
			reason.Int("alerts", r.alerts), reason.At("last", r.last.At))
		b.add(Item{Kind: Undelivered, Severity: event.Warning, Reason: why, Since: r.first.At, Action: Action{"retry-alerts", "interlock alerts retry --all --sink " + sink}})
	}
	return nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// pauses lists the pauses that have lasted long. The pause of all pipelines is one item.
func (b *builder) pauses(context.Context) error {
	for _, row := range b.rows {
		id, command := row.ID, "interlock resume "+string(row.ID)
		if row.ID == store.AllPipelines {
			id, command = "", "interlock resume --all"
		} else {
			row.PauseAll = store.Pause{} // it has its own item
			if b.Catalog.Current().Get(id) == nil {
				continue
			}
		}
		if p := row.Pause; p.Active() && b.now.Sub(p.Since) >= LongPause {
			b.add(Item{Pipeline: id, Kind: Paused, Severity: event.Info, Reason: explain.PausedSince(row), Since: p.Since, Action: Action{"resume", command}})
		}
	}
	return nil
}
