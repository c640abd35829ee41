package archive

import (
	"fmt"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// MaxRows is how many rows are written in one batch.
const MaxRows = 500

// table describes a table of the archive. One statement inserts any number of rows, passed as one
// array per column, so a batch takes one round trip. Rows whose natural key exists are skipped. The
// arrays are unnested in the select list: there Postgres streams them row by row, whereas in FROM
// it would materialise each array first.
type table struct {
	name    string
	columns []string
	insert  string
	copy    string
	once    bool // no row is sent twice unless a cursor was lost: see session.write
}

// newTable returns a table. columns lists "name type" pairs; conflict is the action for a row that
// exists.
func newTable(name, columns, conflict string) table {
	var names, arrays []string
	for i, c := range strings.Split(columns, ", ") {
		column, kind, _ := strings.Cut(c, " ")
		names, arrays = append(names, column), append(arrays, fmt.Sprintf("unnest($%d::%s[])", i+1, kind))
	}
	list := strings.Join(names, ", ")
	return table{
		name: name, columns: names,
		insert: fmt.Sprintf("INSERT INTO %s (%s) SELECT %s ON CONFLICT %s", name, list, strings.Join(arrays, ", "), conflict),
		copy:   fmt.Sprintf("COPY %s (%s) FROM STDIN", name, list),
	}
}

// comingOnce marks a table whose rows never change and are tracked by a cursor.
func comingOnce(t table) table {
	t.once = true
	return t
}

const runKey = "pipeline text, schedule text, period text, "

var (
	runs = newTable("runs", runKey+"version bigint, status text, reason text, attempt integer, cause text, config_version text, "+
		"opened_at timestamptz, updated_at timestamptz, ended_at timestamptz, body jsonb", newest)
	runLogs = newTable("run_logs", runKey+"attempt integer, event text, try integer, at timestamptz, handle text, category text, "+
		"message text, output text, reported_by text", "DO NOTHING")
	events = comingOnce(newTable("events", "id text, at timestamptz, position bigint, type text, severity text, "+runKey+
		"attempt integer, message text, detail jsonb", "DO NOTHING"))
	reruns = newTable("reruns", runKey+"id text, at timestamptz, requested_by text, reason text, force boolean, bypass_gate boolean, "+
		"accepted boolean, why text, attempt integer", "DO NOTHING")
	history = comingOnce(newTable("sensor_history", "pipeline text, sensor text, version bigint, at timestamptz, period text, source text, "+
		"expires_at timestamptz, fields jsonb", "DO NOTHING"))
	cursors = newTable("cursors", "name text, position bigint, at timestamptz",
		"(name) DO UPDATE SET position = excluded.position, at = excluded.at")
)

// tables lists the tables that hold archived data.
var tables = []table{runs, runLogs, events, reruns, history}

// newest keeps the later state of a run, comparing times before versions: a new store counts
// versions from 1 again.
const newest = `(pipeline, schedule, period) DO UPDATE SET version = excluded.version, status = excluded.status,
	reason = excluded.reason, attempt = excluded.attempt, cause = excluded.cause, config_version = excluded.config_version,
	opened_at = excluded.opened_at, updated_at = excluded.updated_at, ended_at = excluded.ended_at, body = excluded.body
	WHERE (excluded.updated_at, excluded.version) > (runs.updated_at, runs.version)`

// row holds one value per column of its table, in order.
type row []any

// rows are rows of one table.
type rows struct {
	table table
	rows  []row
}

// cursorRow returns the row of a cursor.
func cursorRow(name string, position int64, at time.Time) row {
	return row{name, position, instant(at)}
}

// done returns the cursor row that records when something finished.
func done(name string, at time.Time) rows { return rows{cursors, []row{cursorRow(name, 0, at)}} }

func runRow(r run.Run) (row, error) {
	body, err := document(r)
	if err != nil {
		return nil, fmt.Errorf("archive: write run %s: %w", r.Key, err)
	}
	opening := r.Progress.Opening
	return row{
		text(r.Pipeline), text(r.Schedule), r.Period.String(), r.Version, text(r.Status), text(r.Reason), r.Attempt, text(opening.Cause),
		text(opening.ConfigVersion), instant(r.OpenedAt), instant(r.UpdatedAt), instant(r.EndedAt), body,
	}, nil
}

func logRow(e store.JobEntry) row {
	return row{
		text(e.Key.Pipeline), text(e.Key.Schedule), e.Key.Period.String(), e.Attempt, text(e.Event), e.Try, instant(e.At), text(e.Handle),
		text(e.Category), text(e.Message), text(e.Output), text(e.By),
	}
}

func rerunRow(r store.Rerun) row {
	return row{
		text(r.Key.Pipeline), text(r.Key.Schedule), r.Key.Period.String(), text(r.ID), instant(r.At), text(r.By), text(r.Reason), r.Force,
		r.BypassGate, r.Accepted, text(r.Why), r.Attempt,
	}
}

func eventRow(e store.StoredEvent) (row, error) {
	detail, err := e.Event.DetailJSON()
	if err != nil {
		return nil, fmt.Errorf("archive: write event %s: %w", e.Event.ID, err)
	}
	d := e.Event.Detail
	return row{
		text(e.Event.ID), instant(e.Event.Time), int64(e.Position), text(e.Event.Type), text(d.Severity),
		text(d.Pipeline), text(d.Schedule), d.Date.String(), d.Attempt, text(d.Message), withoutZero(string(detail)),
	}, nil
}

func readingRow(id pipeline.ID, r *sensor.Reading) (row, error) {
	fields, err := document(r.Fields)
	if err != nil {
		return nil, fmt.Errorf("archive: write reading %d of %s/%s: %w", r.Version, id, r.Key, err)
	}
	return row{text(id), text(r.Key), r.Version, instant(r.UpdatedAt), r.Period.String(), text(r.Source), instant(r.ExpiresAt), fields}, nil
}

// instant returns nil (NULL) for the zero time.
func instant(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC()
}
