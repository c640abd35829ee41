package source

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
)

// Definition is a compiled source. It is immutable.
type Definition struct {
	ID          ID
	Owner       string
	Description string
	Format      Format
	File        string             // where it was read from
	Digest      string             // of that file: see pipeline.Source
	Warnings    []document.Problem // of this file alone

	each       []path // the steps that split a message; none: the message is the only element
	dedupe     *path
	conditions []condition
	targets    []target
}

// condition is a compiled condition.
type condition struct {
	text    string // the path as written
	path    path
	values  []any          // allowed values; nil: any
	matches *regexp.Regexp // nil: any
	prefix  string         // literal prefix of every match
	groups  []string       // groups of matches; "" for unnamed ones
	absent  bool           // there must be no value
}

// target is a compiled target.
type target struct {
	at       int // index in the file
	pipeline template
	key      text
	period   text
	fields   []field
	ttl      time.Duration
	after    int // how many targets of the same name come before
}

// name returns the reading that the target writes, as the file names it. Several targets may have
// the same.
func (t *target) name() string {
	return fmt.Sprintf("%s\n%s\n%s", t.pipeline, t.key.name(), t.period.name())
}

type field struct {
	name  string
	path  *path
	text  *template // if it is text
	value any       // if it is any other scalar
}

// compiler turns a File into a Definition, and reports problems at their paths.
type compiler struct {
	file     *File
	def      *Definition
	groups   []string        // groups of all conditions
	sent     map[string]bool // groups taken from the time at which an event was sent
	findings []document.Finding
}

func compile(f *File) (*Definition, []document.Finding) {
	c := &compiler{
		file: f, sent: map[string]bool{}, findings: f.findings(),
		def: &Definition{ID: f.Source.ID, Owner: f.Source.Owner, Description: f.Source.Description, Format: f.Source.Format},
	}
	for i, step := range f.Each {
		at := "each"
		if len(f.Each) > 1 {
			at = fmt.Sprintf("each[%d]", i)
		}
		if strings.HasPrefix(step.Path, "$$") && i > 0 {
			c.errorf(at, "a step selects from what the one before gave; write $ instead of $$")
		}
		c.def.each = append(c.def.each, c.path(at, Path(step), false))
	}
	if f.Dedupe != nil {
		if f.Source.Format == OpenLineage {
			c.errorf("dedupe", "a source of format openlineage needs no dedupe: a repeated event writes the same data again, and nothing after the end of its run")
		}
		p := c.path("dedupe.path", *f.Dedupe, false)
		c.def.dedupe = &p
	}
	for i, condition := range f.Match {
		c.condition(fmt.Sprintf("match[%d]", i), condition)
	}
	for i, target := range f.Write {
		c.target(fmt.Sprintf("write[%d]", i), i, target)
	}
	return c.def, c.findings
}

func (c *compiler) errorf(path, format string, args ...any) {
	c.findings = append(c.findings, document.Finding{Path: path, Message: fmt.Sprintf(format, args...)})
}

// path compiles a path. inElement reports whether a single $ may be the element of each.
func (c *compiler) path(at string, in Path, inElement bool) path {
	if in.Path == "" {
		return path{} // already reported as missing
	}
	p, err := parsePath(in, inElement && len(c.file.Each) > 0)
	if err != nil {
		c.errorf(at, "%s", err)
	}
	return p
}

func (c *compiler) condition(at string, in Condition) {
	out := condition{text: in.Path, path: c.path(at+".path", Path{in.Path, in.Decode}, true)}
	switch n := in.given(); {
	case n == 0:
		c.errorf(at, "the condition has no check; add one of equals, in, matches, exists")
	case n > 1:
		c.errorf(at, "the condition has several of equals, in, matches, exists; write one condition for each")
	}
	switch {
	case in.Equals != nil:
		out.values = []any{c.scalar(at+".equals", in.Equals)}
	case in.In != nil:
		out.values = []any{}
		for i, v := range in.In {
			out.values = append(out.values, c.scalar(fmt.Sprintf("%s.in[%d]", at, i), v))
		}
	case in.Exists != nil:
		out.absent = !*in.Exists
	}
	if in.Matches != "" {
		c.matches(at+".matches", in.Matches, &out)
	}
	c.def.conditions = append(c.def.conditions, out)
}

func (c *compiler) scalar(at string, v any) any {
	switch v.(type) {
	case []any, map[string]any, nil:
		c.errorf(at, "expected a text, a number, true or false")
	}
	return v
}

func (c *compiler) matches(at, text string, out *condition) {
	expr, err := regexp.Compile(text)
	if err != nil {
		c.errorf(at, "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return
	}
	out.matches, out.groups = expr, expr.SubexpNames()
	if strings.HasPrefix(text, "^") {
		out.prefix, _ = expr.LiteralPrefix()
	}
	for _, group := range out.groups[1:] {
		switch {
		case group == "":
		case slices.Contains(c.groups, group):
			c.errorf(at, "the group name %q is used twice; give each group a unique name", group)
		default:
			c.groups = append(c.groups, group)
			c.sent[group] = out.path.isInstant(c.def.Format)
		}
	}
}

// isInstant reports whether the path selects the time at which the event was sent.
func (p path) isInstant(f Format) bool {
	name := map[Format]string{OpenLineage: "eventTime", CloudEvents: "time"}[f]
	return !p.element && len(p.names) == 1 && p.names[0] == name
}

func (c *compiler) template(at, text string) template {
	t := template(text)
	c.findings = append(c.findings, document.Under(at, t.findings(c.groups))...)
	return t
}

func (c *compiler) text(at string, in Text) text {
	if in.Path == nil {
		return text{template: c.template(at, in.Text)}
	}
	p := c.path(at+".path", *in.Path, true)
	return text{path: &p}
}

func (c *compiler) target(at string, i int, in Target) {
	out := target{at: i, pipeline: c.template(at+".pipeline", in.Pipeline), key: c.text(at+".key", in.Key), period: c.text(at+".period", in.Period)}
	if id, constant := out.pipeline.constant(); constant && id != "" && !pipeline.ID(id).Valid() {
		c.errorf(at+".pipeline", "%.140q is not a pipeline id", id)
	}
	if key, constant := out.key.constant(); constant && key != "" {
		if _, suffix, err := sensor.ExternalKey(key); err != nil {
			c.errorf(at+".key", "%s", err)
		} else if !suffix.IsZero() {
			c.errorf(at+".key", "the key contains the period %s, which would apply to every event; write period: \"${group}\"", suffix)
		}
	}
	c.period(at+".period", out.period)
	if in.TTL != nil {
		out.ttl = in.TTL.D()
	}
	for _, name := range slices.Sorted(maps.Keys(in.Fields)) {
		out.fields = append(out.fields, c.field(document.KeyPath(at+".fields", name), name, in.Fields[name]))
	}
	for i := range c.def.targets {
		if c.def.targets[i].name() == out.name() {
			out.after++
		}
	}
	c.def.targets = append(c.def.targets, out)
}

// period rejects a period that is the same for every event, or that comes from the time at which an
// event was sent.
func (c *compiler) period(at string, t text) {
	if t.path != nil && t.path.isInstant(c.def.Format) {
		c.sentAt(at + ".path")
	}
	if t.empty() || t.path != nil {
		return
	}
	if text, constant := t.constant(); constant {
		if _, err := period.Parse(text); err != nil {
			c.errorf(at, "%s", err)
			return
		}
		c.errorf(at, "the period %s would apply to every event; take it from the event with a named group: ${day}", text)
	}
	for _, group := range c.groups {
		if c.sent[group] && t.template.uses(group) {
			c.sentAt(at)
		}
	}
}

// sentAt reports a period that comes from the time at which an event was sent: late data would
// count for the wrong period.
func (c *compiler) sentAt(at string) {
	switch c.def.Format {
	case OpenLineage:
		c.errorf(at, "eventTime is when the event was sent, not the period of the data; use a facet, such as $.run.facets.nominalTime.nominalStartTime, or the name of the job or of a dataset")
	case CloudEvents:
		c.findings = append(c.findings, document.Finding{Path: at, Severity: document.Warning, Message: "time is when the event happened, so late data would count for the wrong period; use the subject or the data"})
	case JSON:
	}
}

func (c *compiler) field(at, name string, in Field) field {
	out := field{name: name, value: in.Value}
	switch text, isText := in.Value.(string); {
	case in.Path != nil:
		p := c.path(at+".path", *in.Path, true)
		out.path = &p
		if name == "date" && p.isInstant(c.def.Format) {
			c.sentAt(at + ".path")
		}
	case isText:
		filled := c.template(at, text)
		out.text = &filled
	}
	return out
}

// errNoValue means that a template came out empty.
var errNoValue = errors.New("is empty")
