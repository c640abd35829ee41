package document

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// limits are the constraints in a field's tags on its value, or on each value of its list or
// mapping.
type limits struct {
	min, max, above *bound
	minItems        int
	enum            []string
	fold            bool
	pattern         *regexp.Regexp
	hint            string
	nonEmpty        bool // a required text
}

// bound is a limit of a number, or of a Duration in nanoseconds.
type bound struct {
	text  string
	value float64
}

func newLimits(tag reflect.StructTag, of *plan) (limits, error) {
	l := limits{fold: tag.Get("fold") == "true", hint: tag.Get("hint")}
	if enum := tag.Get("enum"); enum != "" {
		l.enum = strings.Split(enum, ",")
	}
	var err error
	if pattern := tag.Get("pattern"); pattern != "" {
		if l.pattern, err = regexp.Compile(pattern); err != nil {
			return l, err
		}
	}
	if items := tag.Get("minItems"); items != "" {
		if l.minItems, err = strconv.Atoi(items); err != nil {
			return l, err
		}
	}
	for name, to := range map[string]**bound{"min": &l.min, "max": &l.max, "above": &l.above} {
		if text := tag.Get(name); text != "" {
			if *to, err = newBound(text, of.typ == durationType); err != nil {
				return l, err
			}
		}
	}
	return l, nil
}

func newBound(text string, duration bool) (*bound, error) {
	if duration {
		d, err := ParseDuration(text)
		return &bound{text, float64(d)}, err
	}
	value, err := strconv.ParseFloat(text, 64)
	return &bound{text, value}, err
}

// element returns the limits that apply to the values of a list or mapping.
func (l *limits) element() *limits {
	of := *l
	of.minItems, of.nonEmpty = 0, false
	return &of
}

// check returns what is wrong with a Duration or a string, "" if it is valid. It stores a string as
// the enum lists it.
func (l *limits) check(v reflect.Value) (wrong string) {
	switch {
	case v.Type() == durationType:
		wrong = l.checkNumber(float64(v.Int()), Duration(v.Int()).String())
	case v.Kind() == reflect.String:
		var stored string
		stored, wrong = l.checkText(v.String())
		v.SetString(stored)
	}
	return wrong
}

// checkNumber returns what is wrong with a number; "" if it is valid.
func (l *limits) checkNumber(value float64, text string) string {
	if (l.min == nil || value >= l.min.value) && (l.max == nil || value <= l.max.value) && (l.above == nil || value > l.above.value) {
		return ""
	}
	switch {
	case l.min != nil && l.max != nil:
		return fmt.Sprintf("is %s; must be from %s to %s", text, l.min.text, l.max.text)
	case l.above != nil && l.max != nil:
		return fmt.Sprintf("is %s; must be above %s and at most %s", text, l.above.text, l.max.text)
	case l.above != nil:
		return fmt.Sprintf("is %s; must be above %s", text, l.above.text)
	case l.min != nil:
		return fmt.Sprintf("is %s; must be at least %s", text, l.min.text)
	default:
		return fmt.Sprintf("is %s; must be at most %s", text, l.max.text)
	}
}

// checkText returns what is wrong with a text, "" if it is valid, and how to store it.
func (l *limits) checkText(text string) (stored, wrong string) {
	if len(l.enum) > 0 {
		at := slices.IndexFunc(l.enum, func(allowed string) bool {
			return text == allowed || l.fold && sameLetters(text, allowed)
		})
		if at < 0 {
			return text, unlisted(text, l.enum)
		}
		text = l.enum[at]
	}
	if l.pattern != nil && !l.pattern.MatchString(text) {
		hint := l.hint
		if hint == "" {
			hint = "it must match " + l.pattern.String()
		}
		return text, fmt.Sprintf("%s is not allowed; %s", quote(text), hint)
	}
	return text, ""
}

func unlisted(text string, allowed []string) string {
	if near, ok := Suggest(text, allowed); ok {
		return fmt.Sprintf("unknown value %s; did you mean %q?", quote(text), near)
	}
	return fmt.Sprintf("unknown value %s; use one of %s", quote(text), strings.Join(allowed, ", "))
}

// checkCount returns what is wrong with the size of a list or mapping; "" if it is valid.
func (l *limits) checkCount(count int, of string) string {
	if count >= l.minItems {
		return ""
	}
	if l.minItems == 1 {
		return "is empty; must have at least one " + of
	}
	return fmt.Sprintf("must have at least %d %ss, has %d", l.minItems, of, count)
}

// sameLetters compares ignoring the case of ASCII letters, like foldPattern.
func sameLetters(a, b string) bool {
	return len(a) == len(b) && strings.EqualFold(a, b)
}
