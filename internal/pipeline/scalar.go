package pipeline

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/schedule"
)

// cronText is a valid cron expression.
type cronText struct{ cron *schedule.Cron }

func (c *cronText) UnmarshalText(text []byte) error {
	cron, err := schedule.ParseCron(string(text))
	if err != nil {
		return err
	}
	*c = cronText{cron: cron}
	return nil
}

func (cronText) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1)}
}

// zones caches locations: loading one reads a file.
var zones sync.Map

// zoneName is an IANA zone that exists.
type zoneName struct {
	name string
	zone *time.Location
}

// UnmarshalText looks the zone up.
func (z *zoneName) UnmarshalText(text []byte) error {
	name := string(text)
	if known, ok := zones.Load(name); ok {
		*z = zoneName{name: name, zone: known.(*time.Location)}
		return nil
	}
	zone, err := period.LoadZone(name)
	if err != nil || name == "" || name == "Local" {
		return fmt.Errorf("unknown time zone %q; use an IANA name such as UTC or Europe/Berlin", name)
	}
	zones.Store(name, zone)
	*z = zoneName{name: name, zone: zone}
	return nil
}

func (zoneName) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1)}
}

// clockText is a time of day, or a minute of the hour.
type clockText struct{ schedule.Clock }

// UnmarshalText parses HH:MM or :MM.
func (c *clockText) UnmarshalText(text []byte) error {
	clock, err := schedule.ParseClock(string(text))
	c.Clock = clock
	return err
}

func (clockText) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: `^([01][0-9]|2[0-3])?:[0-5][0-9]$`}
}

// date is a calendar date.
type date struct{ period.Period }

// UnmarshalText parses YYYY-MM-DD.
func (d *date) UnmarshalText(text []byte) error {
	p, err := period.Parse(string(text))
	if err != nil || p.Size() != period.Day {
		return fmt.Errorf("%q is not a date; write YYYY-MM-DD", text)
	}
	if p.String() != string(text) {
		return fmt.Errorf("%q is not a date; write %s", text, p)
	}
	d.Period = p
	return nil
}

func (date) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: `^[0-9]{4}-[0-9]{2}-[0-9]{2}$`}
}

// weekday is a day of the week by name.
type weekday struct{ time.Weekday }

var weekdayNames = []string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

// UnmarshalText parses a name, in full or its first three letters, in any case.
func (w *weekday) UnmarshalText(text []byte) error {
	name := strings.ToLower(string(text))
	for i, known := range weekdayNames {
		if name == known || name == known[:3] {
			w.Weekday = time.Weekday(i)
			return nil
		}
	}
	if near, ok := document.Suggest(name, weekdayNames); ok {
		return fmt.Errorf("%q is not a weekday; did you mean %q?", text, near)
	}
	return fmt.Errorf("%q is not a weekday; use monday to sunday", text)
}

func (weekday) JSONSchema() *jsonschema.Schema {
	var forms []string
	for _, name := range weekdayNames {
		forms = append(forms, document.AnyCase(name[:3])+"("+document.AnyCase(name[3:])+")?")
	}
	return &jsonschema.Schema{Type: "string", Pattern: "^(" + strings.Join(forms, "|") + ")$"}
}

// seconds is a duration that the older form writes as a number of seconds.
type seconds struct{ time.Duration }

// maxSeconds keeps a number of seconds within what a duration can hold.
const maxSeconds = 366 * 24 * 3600

// DecodeNode decodes a duration, or an integer number of seconds.
func (s *seconds) DecodeNode(n document.Node) []document.Finding {
	if n.Kind() == document.Int {
		count, err := strconv.Atoi(n.Text())
		if err != nil || count <= 0 || count > maxSeconds {
			return []document.Finding{{Message: fmt.Sprintf("%s is not a number of seconds from 1 to %d", n.Text(), maxSeconds)}}
		}
		s.Duration = time.Duration(count) * time.Second
		return nil
	}
	var d document.Duration
	if findings := n.Decode(&d); len(findings) > 0 {
		return findings
	}
	if d <= 0 {
		return []document.Finding{{Message: "must be longer than 0s"}}
	}
	s.Duration = time.Duration(d)
	return nil
}

func (seconds) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		document.Duration(0).JSONSchema(),
		{Type: "integer", Minimum: jsonschema.Ptr(1.0), Maximum: jsonschema.Ptr(float64(maxSeconds))},
	}}
}

// preferText is validation.preferUntil: a time of day, a minute of the hour, or a duration.
type preferText struct{ Prefer }

func (p *preferText) UnmarshalText(text []byte) error {
	if strings.Contains(string(text), ":") {
		clock, err := schedule.ParseClock(string(text))
		p.Clock = &clock
		return err
	}
	d, err := document.ParseDuration(string(text))
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is neither a time such as \"09:00\" or \":30\" nor a duration such as 45m", text)
	}
	p.For = d
	return nil
}

func (preferText) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{clockText{}.JSONSchema(), document.Duration(0).JSONSchema()}}
}

// upstreams is schedule.after: a list of pipeline ids, some with the number of their runs that is
// enough, or, in the older form, the time of day that is now schedule.time.
type upstreams struct {
	ids     []ID
	places  []int // of the ids in the list
	atLeast map[ID]int
	time    *clockText
	wrong   []document.Finding // items that are not in ids; the others are checked further
}

// upstreamSection is the long form of an upstream.
type upstreamSection struct {
	Pipeline string `yaml:"pipeline" required:"true" doc:"The upstream's id."`
	AtLeast  int    `yaml:"atLeast" min:"1" doc:"How many of its runs inside the period must be COMPLETED; default all."`
}

func (u *upstreams) DecodeNode(n document.Node) []document.Finding {
	if n.Kind() == document.List {
		seen := map[ID]bool{}
		for i, item := range n.Items() {
			u.wrong = append(u.wrong, document.Under(fmt.Sprintf("[%d]", i), u.decodeItem(i, item, seen))...)
		}
		return nil
	}
	var clock clockText
	if n.Kind() == document.String && n.Decode(&clock) == nil && !clock.Hourly() {
		u.time = &clock
		return nil
	}
	return []document.Finding{{Message: fmt.Sprintf("expected a list of pipeline ids such as [orders-silver], found %q", n.Text())}}
}

// decodeItem adds an item of the list, unless something is wrong with it.
func (u *upstreams) decodeItem(place int, item document.Node, seen map[ID]bool) []document.Finding {
	id, path := ID(item.Text()), ""
	var long upstreamSection
	if item.Kind() == document.Map {
		if found := item.Decode(&long); document.HasErrors(found) {
			return found
		}
		id, path = ID(long.Pipeline), "pipeline"
	}
	switch {
	case !id.Valid(), path == "" && item.Kind() != document.String:
		return []document.Finding{{Path: path, Message: fmt.Sprintf("%q is not a pipeline id", id)}}
	case seen[id]:
		return []document.Finding{{Message: fmt.Sprintf("%q is listed twice", id)}}
	}
	seen[id] = true
	u.ids, u.places = append(u.ids, id), append(u.places, place)
	if long.AtLeast > 0 {
		if u.atLeast == nil {
			u.atLeast = map[ID]int{}
		}
		u.atLeast[id] = long.AtLeast
	}
	return nil
}

func (upstreams) JSONSchema() *jsonschema.Schema {
	id := &jsonschema.Schema{Type: "string", Pattern: idPattern}
	long := &jsonschema.Schema{
		Type: "object", Required: []string{"pipeline"}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		Properties: map[string]*jsonschema.Schema{
			"pipeline": id, "atLeast": {Type: "integer", Minimum: jsonschema.Ptr(1.0)},
		},
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		{Type: "array", Items: &jsonschema.Schema{AnyOf: []*jsonschema.Schema{id, long}}, UniqueItems: true},
		{Type: "string", Pattern: `^([01][0-9]|2[0-3]):[0-5][0-9]$`},
	}}
}
