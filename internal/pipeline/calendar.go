package pipeline

import (
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/schedule"
)

// calendarFile is a named set of days, as written.
type calendarFile struct {
	Name  string    `yaml:"name" required:"true" doc:"The name that pipelines refer to."`
	Days  []weekday `yaml:"days" doc:"Weekdays by name."`
	Dates []date    `yaml:"dates" doc:"Dates, YYYY-MM-DD."`
}

// calendar is a calendar that was read.
type calendar struct {
	schedule.Calendar
	source Source
}

func (c calendar) name() string { return c.Name }

func readCalendar(src Source) (calendar, []document.Problem) {
	doc, problems := src.Parse()
	if doc == nil {
		return calendar{}, problems
	}
	var file calendarFile
	problems = append(problems, doc.Decode(&file)...)
	if len(file.Days) == 0 && len(file.Dates) == 0 {
		problems = append(problems, doc.Resolve(document.Finding{
			Path: "name", Severity: document.Warning, Message: "the calendar has neither days nor dates, so it excludes nothing",
		})...)
	}
	return calendar{schedule.Calendar{Name: file.Name, Days: weekdays(file.Days), Dates: dates(file.Dates)}, src}, problems
}

func weekdays(list []weekday) []time.Weekday {
	days := make([]time.Weekday, 0, len(list))
	for _, d := range list {
		days = append(days, d.Weekday)
	}
	return days
}

// exclusions returns the union of schedule.exclude and the top-level exclusions.
func (b *builder) exclusions(s *ScheduleSection) []schedule.Calendar {
	return append(b.exclusion("schedule.exclude", s.Exclude), b.exclusion("exclusions", b.file.Exclusions)...)
}

func (b *builder) exclusion(path string, e *Exclusion) []schedule.Calendar {
	if e == nil {
		return nil
	}
	var all []schedule.Calendar
	if e.Weekends {
		all = append(all, schedule.Calendar{Days: []time.Weekday{time.Saturday, time.Sunday}})
	}
	if len(e.Days) > 0 || len(e.Dates) > 0 {
		all = append(all, schedule.Calendar{Days: weekdays(e.Days), Dates: dates(e.Dates)})
	}
	for _, named := range []struct{ key, name string }{{"calendar", e.Calendar}, {"holidays", e.Holidays}} {
		if named.name == "" {
			continue
		}
		c, ok := b.shelf.calendars.byName[named.name]
		if !ok {
			b.errorf(document.JoinPath(path, named.key), "%s", b.shelf.calendars.missing(named.name))
			continue
		}
		all = append(all, c.Calendar)
		b.def.Calendars = withSource(b.def.Calendars, c.source)
	}
	return all
}
