package rule

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/sensor"
)

// pipelineID is the form of a pipeline's id, for from. It is compiled on first use: compiling takes
// a third of a millisecond, which every command would otherwise spend before its main.
var pipelineID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,126}[a-z0-9])?$`)
})

var checks = []string{
	string(Exists), string(Equals), string(NotEquals), string(In), string(GT), string(GTE),
	string(LT), string(LTE), string(AgeLT), string(AgeGT), string(Matches),
}

// levels are the allowed levels; an empty one means required.
var levels = []Level{"", Required, Preferred, Advisory}

var ordersOf = map[Check]orders{GT: greater, GTE: greater | equal, LT: less, LTE: less | equal}

// parser converts the texts of one predicate to what evaluation needs, and records problems.
type parser struct {
	rule  Rule
	value any // the rule's value, normalised
	out   predicate
	collector
}

// parse prepares a rule that is not a group. The predicate, still without its slot, can be used
// only if no finding is an error.
func parse(r Rule) (predicate, []document.Finding) {
	p := parser{rule: r, out: predicate{absent: Unknown}}
	p.key()
	p.from()
	p.level()
	p.check()
	p.settled()
	p.over()
	if p.out.timed {
		p.time().words = r.time()
	}
	return p.out, p.found
}

func (p *parser) key() {
	key := p.rule.Key
	if key == "" {
		p.errorf("key", "is required: the sensor that the rule checks")
		return
	}
	if name, _, dated := strings.Cut(key, "#"); dated {
		p.errorf("key", "%q contains a period; a rule always reads the run's own period: write %q", key, name)
		return
	}
	if err := sensor.Key(key).Check(); err != nil {
		p.errorf("key", "%v", err)
	}
}

func (p *parser) from() {
	if from := p.rule.From; from != "" && !pipelineID().MatchString(from) {
		p.errorf("from", "%q is not a pipeline id; an id is 1 to 128 lower-case letters, digits and . _ - and starts and ends with a letter or digit", from)
	}
}

func (p *parser) level() { p.found = append(p.found, levelFindings(p.rule.Level)...) }

func levelFindings(l Level) []document.Finding {
	if slices.Contains(levels, l) {
		return nil
	}
	return []document.Finding{{Path: "level", Message: fmt.Sprintf("unknown level %q%s", l, document.Choice(string(l), []string{string(Required), string(Preferred), string(Advisory)}))}}
}

func (p *parser) check() {
	switch check := p.rule.Check; {
	case check == "":
		p.errorf("check", "is required: one of %s", strings.Join(checks, ", "))
		return
	case !slices.Contains(checks, string(check)):
		p.errorf("check", "unknown check %q%s", check, document.Choice(string(check), checks))
		return
	case check == Exists:
		p.exists()
		return
	}
	p.field()
	value, err := sensor.Normalize(p.rule.Value)
	if err != nil {
		p.errorf("value", "%v", err)
		return
	}
	if value == nil {
		p.errorf("value", "is required: the value that %s compares with", p.rule.Check)
		return
	}
	p.value = value
	p.operand()
}

func (p *parser) exists() {
	p.out.op, p.out.absent = opExists, Fail
	if p.rule.Field != "" {
		p.out.op = opExistsField
		p.field()
	}
	if p.rule.Value != nil {
		p.found = append(p.found, document.Finding{Path: "value", Severity: document.Warning, Message: "is ignored by exists; use check: equals to compare it, or remove it"})
	}
}

func (p *parser) isAge() bool { return p.rule.Check == AgeLT || p.rule.Check == AgeGT }

func (p *parser) field() {
	field := p.rule.Field
	if field == "" && p.isAge() {
		field = ownTimestamp
	}
	if field == "" {
		p.errorf("field", "is required: the field of the reading that %s checks", p.rule.Check)
		return
	}
	path := strings.Split(field, ".")
	if slices.Contains(path, "") {
		p.errorf("field", "%q has an empty part; write it like totals.count", field)
		return
	}
	p.out.field, p.out.own = field, field == ownTimestamp && p.isAge()
	if len(path) > 1 {
		p.out.dotted = true
		p.rare().path = path
	}
}

func (p *parser) rare() *rare {
	if p.out.more == nil {
		p.out.more = &rare{}
	}
	return p.out.more
}

// operand parses the value as the check requires.
func (p *parser) operand() {
	switch p.rule.Check {
	case Equals, NotEquals:
		p.scalar()
	case In:
		p.list()
	case GT, GTE, LT, LTE:
		p.number()
	case AgeLT, AgeGT:
		p.duration()
	case Matches:
		p.expression()
	}
}

func (p *parser) scalar() {
	p.out.op = opSame
	if p.rule.Check == NotEquals {
		p.out.op = opDiffers
	}
	var ok bool
	if p.out.with, ok = operandOf(p.value); ok {
		return
	}
	if _, isList := p.value.([]any); isList {
		p.errorf("value", "is a list, but %s compares with one value; use check: in for several%s", p.rule.Check, negated(p.rule.Check))
		return
	}
	p.errorf("value", "is an object, but %s compares with one value; use a dotted field to reach into the reading", p.rule.Check)
}

func negated(c Check) string {
	if c == NotEquals {
		return ", inside a not"
	}
	return ""
}

func (p *parser) list() {
	p.out.op = opIn
	items, ok := p.value.([]any)
	if !ok {
		p.errorf("value", "%s is not a list; in needs one, like [ready, done]", literal(p.value))
		return
	}
	if len(items) == 0 {
		p.errorf("value", "is an empty list; name at least one value")
	}
	for i, item := range items {
		o, ok := operandOf(item)
		if !ok {
			p.errorf(fmt.Sprintf("value[%d]", i), "is %s; in needs texts, numbers, true or false", literal(item))
		}
		p.rare().in = append(p.rare().in, o)
	}
}

func (p *parser) number() {
	p.out.op = opOrder
	p.out.holds = ordersOf[p.rule.Check]
	n, ok := numberOf(p.value)
	if p.out.with.setNum(n, ok); !ok {
		p.errorf("value", "%s is not a number; %s needs one, like 1000", literal(p.value), p.rule.Check)
	}
}

func (p *parser) duration() {
	p.out.op = opYounger
	if p.rule.Check == AgeGT {
		p.out.op = opOlder
	}
	text, ok := p.value.(string)
	if !ok {
		p.errorf("value", "%s is not a duration; %s needs one with its unit, like 2h, 90m or 1d", literal(p.value), p.rule.Check)
		return
	}
	age, err := document.ParseDuration(text)
	if err != nil {
		p.errorf("value", "%v", err)
		return
	}
	p.out.with.i = int64(age)
	if p.out.op == opYounger && p.out.age() <= 0 {
		p.errorf("value", "%q can never pass; age_lt needs a duration above 0, like 2h", text)
	}
}

func (p *parser) expression() {
	p.out.op = opMatches
	text, ok := p.value.(string)
	if !ok {
		p.errorf("value", "%s is not text; matches needs a regular expression in quotes", literal(p.value))
		return
	}
	expr, err := regexp.Compile(text)
	if err != nil {
		p.errorf("value", "%s is not a valid regular expression (RE2): %v", literal(text), err)
		return
	}
	p.rare().expr = expr
}
