// Package rule decides whether a gate is open: predicates over sensor readings, combined in
// three-valued logic. Rules are compiled once, when their file loads; evaluating them reads no
// clock and does no I/O. Package sensor determines which reading a rule sees for a period.
package rule

import (
	"iter"
	"strconv"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sensor"
)

// Check is the kind of a predicate.
type Check string

const (
	Exists    Check = "exists"
	Equals    Check = "equals"
	NotEquals Check = "not_equals"
	In        Check = "in"
	GT        Check = "gt"
	GTE       Check = "gte"
	LT        Check = "lt"
	LTE       Check = "lte"
	AgeLT     Check = "age_lt"
	AgeGT     Check = "age_gt"
	Matches   Check = "matches"
)

// Level determines whether a rule can close the gate.
type Level string

// Required rules decide; preferred ones do so until a time that the pipeline sets; advisory ones
// are only shown.
const (
	Required  Level = "required"
	Preferred Level = "preferred"
	Advisory  Level = "advisory"
)

// Mode determines how the rules of a list combine.
type Mode string

// ModeAll requires every rule to pass, ModeAny at least one.
const (
	ModeAll Mode = "ALL"
	ModeAny Mode = "ANY"
)

// Rule is one predicate, or one group, as written in a pipeline file.
type Rule struct {
	Key     string             `yaml:"key" doc:"The sensor to check, without #period: the reading for the run's period is used."`
	Check   Check              `yaml:"check" enum:"exists,equals,not_equals,in,gt,gte,lt,lte,age_lt,age_gt,matches" doc:"The check."`
	Field   string             `yaml:"field" doc:"The field of the reading to check; a dotted path reaches into objects. Required by all checks but exists; the default of age checks is updatedAt."`
	Value   any                `yaml:"value" doc:"What the field is compared with: a list for in, a duration such as 2h for age_lt and age_gt, a regular expression (RE2) for matches. Required by all checks but exists."`
	From    string             `yaml:"from" doc:"Another pipeline's id: its sensor is read instead of this pipeline's."`
	Level   Level              `yaml:"level" enum:"required,preferred,advisory" default:"required" doc:"A preferred rule closes the gate only until validation.preferUntil; an advisory rule is shown but never affects the gate or its group."`
	Settled *document.Duration `yaml:"settled" above:"0s" doc:"The rule passes only if its reading's data has not changed for this long."`
	Over    *Over              `yaml:"over" doc:"Evaluate the rule for several slices of time instead of the run's period."`
	All     []Rule             `yaml:"all" doc:"A group that passes when all of its rules pass."`
	Any     []Rule             `yaml:"any" doc:"A group that passes when one of its rules passes."`
	AtLeast *AtLeast           `yaml:"atLeast" doc:"A group that passes when at least n of its rules pass."`
	Not     *Rule              `yaml:"not" doc:"Passes if the rule inside it fails; unknown stays unknown."`
}

// AtLeast passes when N of its rules pass.
type AtLeast struct {
	N  int    `yaml:"n" required:"true" min:"1" doc:"How many rules must pass."`
	Of []Rule `yaml:"of" required:"true" doc:"The rules to choose from."`
}

// Over selects the periods for which a rule is evaluated, and how many of them must pass: those
// inside the run's period (Slices), or the last ones up to and including it (Last, Of).
type Over struct {
	Slices  string `yaml:"slices" enum:"month,week,day,hour,minute" doc:"All slices of this size inside the run's period."`
	Last    int    `yaml:"last" min:"1" max:"1500" doc:"This many slices, up to and including the run's period."`
	Of      string `yaml:"of" enum:"quarter,month,week,day,hour,minute" doc:"The size of the slices that last counts."`
	AtLeast int    `yaml:"atLeast" min:"1" doc:"Number of slices for which the rule must pass; default all."`
}

// Range is a compiled Over without the number that must pass. The zero Range is the run's period
// itself.
type Range struct {
	Size period.Size
	Last int // 0: the periods inside the run's period
}

// Ref is a sensor that a gate reads.
type Ref struct {
	From  string // another pipeline's id; "" for the gate's own
	Key   sensor.Key
	Start bool  // read as a start condition (sensor.ForStart) rather than as a standing fact
	Over  Range // read for several periods (sensor.ForSlices)
}

// Leaves iterates over the predicates of rules, including those inside groups, each with its path
// relative to the list: "[0]", "[1].any[0]", "[2].atLeast.of[1].not". It does not enter groups
// nested too deep to be compiled.
func Leaves(rules []Rule) iter.Seq2[string, Rule] {
	return func(yield func(string, Rule) bool) {
		for i := range rules {
			if !walk(rules[i], "["+strconv.Itoa(i)+"]", 0, yield) {
				return
			}
		}
	}
}

func walk(r Rule, path string, depth int, yield func(string, Rule) bool) bool {
	groups := r.groups()
	if len(groups) == 0 {
		return yield(path, r)
	}
	if depth >= maxDepth {
		return true
	}
	for _, g := range groups {
		for i := range g.members {
			if !walk(g.members[i], path+"."+g.pathOf(i), depth+1, yield) {
				return false
			}
		}
	}
	return true
}

// groupKind is one of the four ways to combine rules.
type groupKind uint8

const (
	noGroup groupKind = iota
	allGroup
	anyGroup
	atLeastGroup
	notGroup
)

// String returns the group's name in a file.
func (k groupKind) String() string {
	return [...]string{noGroup: "", allGroup: "all", anyGroup: "any", atLeastGroup: "atLeast", notGroup: "not"}[k]
}

// group is the common form of the four groups.
type group struct {
	kind    groupKind
	n       int // for atLeast
	members []Rule
}

// path returns the path of the members inside the group's rule.
func (g group) path() string {
	if g.kind == atLeastGroup {
		return "atLeast.of"
	}
	return g.kind.String()
}

// pathOf returns the path of the i-th member inside the group's rule.
func (g group) pathOf(i int) string {
	if g.kind == notGroup {
		return g.path()
	}
	return g.path() + "[" + strconv.Itoa(i) + "]"
}

// groups lists the groups in r. A valid rule has at most one.
func (r Rule) groups() []group {
	var out []group
	if r.All != nil {
		out = append(out, group{kind: allGroup, members: r.All})
	}
	if r.Any != nil {
		out = append(out, group{kind: anyGroup, members: r.Any})
	}
	if r.AtLeast != nil {
		out = append(out, group{kind: atLeastGroup, n: r.AtLeast.N, members: r.AtLeast.Of})
	}
	if r.Not != nil {
		out = append(out, group{kind: notGroup, members: []Rule{*r.Not}})
	}
	return out
}
