package archive

import (
	"cmp"
	"context"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// runs copies runs as they are now, with their job logs. Each is named once.
func (p *pass) runs(ctx context.Context, keys []run.Key) error {
	found, err := p.archiver.store.RunsAt(ctx, keys)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if r, there := found[key]; there {
			if err := p.copyRun(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func distinct(keys []run.Key) []run.Key {
	known := map[run.Key]bool{}
	var out []run.Key
	for _, k := range keys {
		if !known[k] {
			known[k] = true
			out = append(out, k)
		}
	}
	return out
}

// copyRun copies a run and its job log.
func (p *pass) copyRun(ctx context.Context, r run.Run) error {
	made, err := runRow(r)
	if err != nil {
		return err
	}
	p.ledger.add(runs, made)
	entries, err := p.archiver.store.JobLogs(ctx, []run.Key{r.Key})
	if err != nil {
		return err
	}
	for _, e := range entries[r.Key] {
		p.ledger.add(runLogs, logRow(e))
	}
	return nil
}

// requests copies the requests for a run.
func (p *pass) requests(ctx context.Context, key run.Key) error {
	all, err := p.archiver.store.Reruns(ctx, []run.Key{key})
	if err != nil {
		return err
	}
	for _, r := range all[key] {
		p.ledger.add(reruns, rerunRow(r))
	}
	return nil
}

// sweep looks through all runs.
func (p *pass) sweep(ctx context.Context) error {
	for q := (store.RunQuery{Limit: MaxRows}); ; {
		page, err := p.archiver.store.Runs(ctx, q)
		if err = cmp.Or(err, p.ledger.err()); err != nil {
			return err
		}
		for _, r := range page.Items {
			if err := p.copyRun(ctx, r); err != nil {
				return err
			}
			if err := p.requests(ctx, r.Key); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return p.ledger.write(done(sweptCursor, p.now))
		}
		q.Cursor = page.Next
	}
}
