package api

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/reason"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
)

// List is a page of a list.
type List[T any] struct {
	Items      []T     `json:"items" doc:"The items of this page."`
	NextCursor *string `json:"nextCursor" doc:"The cursor of the next page; null on the last page."`

	bytes int // size of the items that add has added
}

// add appends an item to a page that is built item by item.
func (l *List[T]) add(item T) {
	l.Items = append(l.Items, item)
	l.bytes += encodedSize(item)
}

// full reports whether the page has enough items or bytes.
func (l *List[T]) full(limit int) bool { return len(l.Items) >= limit || l.bytes >= maxPageBytes }

// last returns the last item of a full page.
func (l *List[T]) last() T { return l.Items[len(l.Items)-1] }

// list returns a page of views of the items that the client may see.
func list[T, V any](page store.Page[T], sees func(T) bool, view func(T) V) List[V] {
	l := List[V]{Items: []V{}, NextCursor: text(page.Next)}
	for _, item := range page.Items {
		if sees(item) {
			l.Items = append(l.Items, view(item))
		}
	}
	return l
}

// text returns s, or nil if it is empty.
func text[S ~string](s S) *string {
	if s == "" {
		return nil
	}
	return new(string(s))
}

// instant returns t in UTC, or nil if it is zero.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

// date returns the name of p, or nil if it is zero.
func date(p period.Period) *string { return text(p.String()) }

// lastYear is the latest year that a request may name. RFC 3339 has four-digit years, and windows,
// deadlines and time zones extend past the instant itself.
const lastYear = 9998

// checkYear rejects a year that a response could not represent. name is the field of the request
// that has it.
func checkYear(name string, year int) *Problem {
	if year < 1 || year > lastYear {
		return badRequest("%s: year %d is out of range; use 0001 to %d", name, year, lastYear).at(name, "year out of range")
	}
	return nil
}

// parsePeriod parses the period in the field name; the zero Period if it is empty.
func parsePeriod(name, sent string) (period.Period, *Problem) {
	if sent == "" {
		return period.Period{}, nil
	}
	p, err := period.Parse(sent)
	if errors.As(err, new(period.SyntaxError)) {
		return period.Period{}, badRequest("%s", err).at(name, "not a period")
	}
	if err != nil {
		return period.Period{}, noPeriod(name, err)
	}
	year, _, _ := p.Date()
	return p, checkYear(name, year)
}

// noPeriod returns the response to a period that does not exist. name is the field of the request
// that has it.
func noPeriod(name string, err error) *Problem {
	return problem(http.StatusBadRequest, unknownPeriod, "%s", err).at(name, "no such period")
}

// checkName rejects a period that a clock change skips in the pipeline's time zone: nothing can run
// for it.
func checkName(name string, e *catalog.Entry, p period.Period) *Problem {
	if err := p.CheckName(e.Schedule.Zone()); err != nil {
		return noPeriod(name, err)
	}
	return nil
}

// parseTime parses the RFC 3339 instant in the field name. It returns false if sent is something
// else.
func parseTime(name, sent string) (time.Time, bool, *Problem) {
	t, ok := period.ParseInstant(sent)
	if !ok {
		return time.Time{}, false, nil
	}
	return t, true, checkYear(name, t.Year())
}

// parseInstant parses the instant in the field name: RFC 3339, a period (its first instant in UTC),
// or a duration ago. It returns the zero time if sent is empty.
func parseInstant(name, sent string, now time.Time) (time.Time, *Problem) {
	if sent == "" {
		return time.Time{}, nil
	}
	if t, ok, p := parseTime(name, sent); ok {
		return t, p
	}
	if p, err := period.Parse(sent); err == nil {
		t := p.Start(time.UTC)
		return t, checkYear(name, t.Year())
	}
	if d, err := document.ParseDuration(sent); err == nil && d >= 0 {
		return now.Add(-d).UTC(), nil
	}
	return time.Time{}, badRequest("%s %.60q is not a time; write 2026-03-03T10:00:00Z, 2026-03-03, or a duration ago such as 2h", name, sent).
		at(name, "not a time")
}

// parseWidth parses the bucket width of a timeline.
func parseWidth(sent string) (time.Duration, *Problem) {
	d, err := document.ParseDuration(sent)
	if err != nil || d < time.Minute {
		return 0, badRequest("bucket %.60q is not a duration of at least 1m; write it like 1h or 1d", sent).at("query.bucket", "not a duration of at least 1m")
	}
	return d, nil
}

// parseSchedule parses the schedule id in the field name; "" if it is empty.
func parseSchedule(name, sent string) (pipeline.ScheduleID, *Problem) {
	s := pipeline.ScheduleID(sent)
	if sent == "" || s.Valid() {
		return s, nil
	}
	return "", badRequest("schedule %.60q is unknown%s", sent, document.Choice(sent, pipeline.ScheduleIDs())).at(name, "unknown")
}

// parseKey parses the three parts of a run's path.
func parseKey(id, schedule, date string) (run.Key, *Problem) {
	if _, p := parseSchedule("path.schedule", schedule); p != nil {
		return run.Key{}, p
	}
	key, err := run.ParseKey(strings.Join([]string{id, schedule, date}, "/"))
	if err != nil {
		return run.Key{}, badRequest("%s", err)
	}
	return key, nil
}

// parseStatus parses a run's status; "" if it is empty.
func parseStatus(sent string) (run.Status, *Problem) {
	if sent == "" {
		return "", nil
	}
	var known []string
	for _, s := range run.Statuses() {
		if strings.EqualFold(string(s), sent) {
			return s, nil
		}
		known = append(known, string(s))
	}
	return "", badRequest("status %.60q is unknown%s", sent, document.Choice(sent, known)).at("query.status", "unknown")
}

// parseID parses a pipeline's id in a query; "" if it is empty. It need not be active: the history
// of a removed pipeline stays.
func parseID(who principal, sent string) (pipeline.ID, *Problem) {
	id := pipeline.ID(sent)
	switch {
	case sent == "":
		return "", nil
	case !id.Valid():
		return "", badRequest("%.140q is not a pipeline id", sent).at("query.pipeline", "not a pipeline id")
	case !who.sees(id):
		return "", problem(http.StatusForbidden, plainKind, "the token is limited to pipelines other than %q", id)
	}
	return id, nil
}

// underPrefix reports whether a path is below the API's prefix.
func underPrefix(path string) bool { return strings.HasPrefix(path, prefix+"/") }

func reasonView(r reason.Reason) client.Reason {
	return client.Reason{Code: string(r.Code), Text: r.String(), Parts: views(r.Parts, partView), Also: views(r.Also, partView)}
}

// maybeReason returns a reason, or nil if it is zero.
func maybeReason(r reason.Reason) *client.Reason {
	if r.IsZero() {
		return nil
	}
	return new(reasonView(r))
}

func partView(p reason.Part) client.Part {
	v := client.Part{Kind: string(p.Kind), Name: text(p.Name), Text: p.Text, At: instant(p.At)}
	if p.Kind == reason.Duration {
		v.Seconds = &p.Seconds
	}
	return v
}
