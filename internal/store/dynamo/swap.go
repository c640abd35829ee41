package dynamo

import (
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sla"
	"github.com/interlock-go/interlock/internal/store"
)

// swap puts a record in the place of the version that was read.
func (p *plan) swap(where address, what string, read, version int64, record any, more Row) error {
	json, err := encode(record)
	if err != nil {
		return err
	}
	more["json"], more["version"] = json, number(version)
	p.put(where, more, at(read), fmt.Sprintf("%s is not at version %d any more", what, read))
	return nil
}

func (p *plan) swaps() error {
	for _, w := range p.Runs {
		if err := p.run(w); err != nil {
			return err
		}
	}
	for _, w := range p.DryRuns {
		if err := p.dryRun(w); err != nil {
			return err
		}
	}
	for _, w := range p.Pipelines {
		row := Row{"movedAt": text(store.Nanos(p.now)), "list": text("PIPELINE"), "place": text(join("PIPELINE", string(w.Next.ID)))}
		if err := p.swap(pipelineAt(w.Next.ID), "pipeline "+string(w.Next.ID), w.Read, w.Next.Version, w.Next, row); err != nil {
			return err
		}
		p.changes = append(p.changes, store.Change{Kind: store.PipelineMoved, At: p.now, Pipeline: w.Next.ID, Version: w.Next.Version})
	}
	for _, e := range p.Expected {
		p.check(pipelineAt(e.ID), at(e.Version), fmt.Sprintf("pipeline %s is not at version %d any more", e.ID, e.Version))
	}
	for _, w := range p.Deadlines {
		row := Row{"state": text(string(w.Next.State)), "list": text("DEADLINE"), "place": text(deadlinePlace(w.Next))}
		if w.Next.State == "" {
			delete(row, "state")
		}
		if w.Next.State == sla.Armed {
			row["pending"], row["pendingPlace"] = text("DEADLINE"), row["place"]
		}
		if err := p.swap(deadlineAt(w.Next.Key, w.Next.Kind), "deadline "+w.Next.Key.String(), w.Read, w.Next.Version, w.Next, row); err != nil {
			return err
		}
	}
	for _, w := range p.PostRuns {
		if err := p.swap(baselineAt(w.Next.Key), "post-run "+w.Next.Key.String(), w.Read, w.Next.Version, w.Next, Row{}); err != nil {
			return err
		}
	}
	for _, w := range p.Notes {
		where := noteAt(w.Next.Kind, w.Next.Key)
		if err := p.swap(where, "note "+w.Next.Key, w.Read, w.Next.Version, w.Next, ageing("NOTE", w.Next.Until, where, Row{})); err != nil {
			return err
		}
	}
	return nil
}

// ageing puts a row into the list of those that are forgotten after an instant, by Trim and by DynamoDB itself; a zero one
// means never.
func ageing(kind string, until time.Time, where address, row Row) Row {
	if !until.IsZero() {
		row[TTL] = expires(until)
		aged(kind, until, where, row)
	}
	return row
}

// aged puts a row into the list that Trim looks at.
func aged(kind string, at time.Time, where address, row Row) {
	row["aging"], row["agedAt"] = text(kind), text(join(store.Nanos(at), where.pk, where.sk))
}

// run notes at which version status or attempt changed last, so that an image of the row tells whether that was now.
func (p *plan) run(w store.Swap[run.Run]) error {
	r, old := w.Next, p.found[runAt(w.Next.Key)]
	if old.number("version") != w.Read {
		return fmt.Errorf("run %s is at version %d, was read at %d: %w", r.Key, old.number("version"), w.Read, store.ErrConflict)
	}
	row := Row{
		"status": text(string(r.Status)), "attempt": number(int64(r.Attempt)), "moved": number(r.Version), "movedAt": text(store.Nanos(p.now)),
		"list": text("RUN"), "place": text(runPlace("RUN", r.Key)),
	}
	if r.Progress.Snapshot != "" {
		row["snapshot"] = text(string(r.Progress.Snapshot))
	}
	if r.Status.Open() {
		row["pending"], row["pendingPlace"] = text("RUN"), text(openPlace(r.Key))
	} else if store.Apart(r.Status) {
		ended := endedAs(r.Status)
		row["pending"], row["pendingPlace"] = text(ended), text(runPlace(ended, r.Key))
	}
	if old != nil && old.text("status") == string(r.Status) && old.number("attempt") == int64(r.Attempt) {
		row["moved"], row["movedAt"] = old["moved"], old["movedAt"]
	} else {
		p.changes = append(p.changes, store.Change{
			Kind: store.RunMoved, At: p.now, Pipeline: r.Pipeline, Version: r.Version, Run: r.Key, Status: r.Status, Attempt: r.Attempt,
		})
	}
	return p.swap(runAt(r.Key), "run "+r.Key.String(), w.Read, r.Version, r, row)
}

func (p *plan) dryRun(w store.Swap[run.Run]) error {
	r, where := w.Next, dryRunAt(w.Next.Key)
	row := Row{"status": text(string(r.Status))}
	if r.Status.Open() {
		row["pending"], row["pendingPlace"] = text("DRY_RUN"), text(join("DRY_RUN", store.Place(r.Period), names(r.Key)))
	} else {
		ageing("DRY_RUN", r.UpdatedAt.Add(store.DryRunLife), where, row)
	}
	return p.swap(where, "dry run "+r.Key.String(), w.Read, r.Version, r, row)
}

// records are those of which the first stays.
func (p *plan) records() error {
	for _, c := range p.Configs {
		if err := p.first(configAt(c.Pipeline, c.Version), c, Row{}); err != nil {
			return err
		}
	}
	for i, e := range p.Log {
		row, where := Row{"event": text(string(e.Event)), "attempt": number(int64(e.Attempt)), "ticket": number(p.ticket + int64(i))}, jobAt(e)
		aged("LOG", e.At, where, row)
		if err := p.first(where, e, row); err != nil {
			return err
		}
	}
	for _, v := range p.Snapshots {
		row, where := Row{}, snapshotAt(v.ID)
		aged("SNAPSHOT", v.At, where, row)
		if slices.ContainsFunc(p.Runs, func(w store.Swap[run.Run]) bool { return w.Next.Key == v.Key && w.Next.Progress.Snapshot == v.ID }) {
			delete(row, "aging") // until its run refers to another
		}
		if err := p.first(where, v, row); err != nil {
			return err
		}
	}
	for i, r := range p.Reruns {
		row, where := Row{"attempt": number(int64(r.Attempt)), "ticket": number(p.ticket + int64(i))}, rerunAt(r)
		aged("RERUN", r.At, where, row)
		if err := p.first(where, r, row); err != nil {
			return err
		}
	}
	for _, m := range p.Marks {
		where := markAt(m.ID)
		p.put(where, ageing("MARK", m.Until, where, Row{}), absent, "mark "+m.ID+" is set")
	}
	return nil
}

// first writes a record where there is none yet, and leaves one that is there as it is.
func (p *plan) first(where address, record any, row Row) error {
	var err error
	if row["json"], err = encode(record); err != nil {
		return err
	}
	u := &types.Update{TableName: aws.String(where.table), Key: where.key(), ExpressionAttributeNames: map[string]string{}, ExpressionAttributeValues: Row{}}
	set := ""
	for name, value := range row {
		u.ExpressionAttributeNames["#"+name], u.ExpressionAttributeValues[":"+name] = name, value
		if set != "" {
			set += ", "
		}
		set += fmt.Sprintf("#%s = if_not_exists(#%s, :%s)", name, name, name)
	}
	u.UpdateExpression = aws.String("SET " + set)
	p.items = append(p.items, item{TransactWriteItem: types.TransactWriteItem{Update: u}})
	return nil
}

// letters are stored in the place of one that is there, or taken out.
func (p *plan) letters() error {
	for _, d := range p.Dead {
		json, err := encode(d)
		if err != nil {
			return err
		}
		p.put(deadAt(d.Sink, d.Event.ID), Row{"json": json}, condition{}, "")
	}
	for _, d := range p.Buried {
		p.drop(deadAt(d.Sink, d.Event.ID), condition{}, "")
	}
	return nil
}
