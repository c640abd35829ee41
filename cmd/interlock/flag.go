package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
)

// choice is a flag whose value is one of a few words.
type choice struct {
	value   string
	options []string
}

var _ pflag.Value = (*choice)(nil)

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return strings.Join(c.options, "|") }

func (c *choice) Set(s string) error {
	if !slices.Contains(c.options, s) {
		return fmt.Errorf("it must be %s%s", strings.Join(c.options, " or "), document.DidYouMean(s, c.options))
	}
	c.value = s
	return nil
}

// The levels of the server's log.
const (
	infoLevel  = "info"
	debugLevel = "debug"
)

// The output formats.
const (
	textFormat   = "text"
	jsonFormat   = "json"
	wideFormat   = "wide" // text with full-width tables
	githubFormat = "github"
	sarifFormat  = "sarif"
	junitFormat  = "junit"
)

// addFormat gives cmd a --format flag, short -o, with text, wide, json and the given formats.
func addFormat(cmd *cobra.Command, more ...string) *choice {
	format := &choice{value: textFormat, options: append([]string{textFormat, wideFormat, jsonFormat}, more...)}
	addChoice(cmd, format, "format", "o", "output format")
	return format
}

// addChoice adds a choice as a flag; short may be "".
func addChoice(cmd *cobra.Command, c *choice, name, short, usage string) {
	cmd.Flags().VarP(c, name, short, usage)
	complete := cobra.FixedCompletions(c.options, cobra.ShellCompDirectiveNoFileComp)
	// Registering fails only if the flag does not exist.
	_ = cmd.RegisterFlagCompletionFunc(name, complete)
}

// count is a flag for a whole number from 1 to most.
type count struct{ value, most int }

var _ pflag.Value = (*count)(nil)

func (c *count) String() string { return strconv.Itoa(c.value) }
func (c *count) Type() string   { return "N" }

func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > c.most {
		return fmt.Errorf("it must be a whole number from 1 to %d", c.most)
	}
	c.value = n
	return nil
}

// instant is a flag for an RFC 3339 time; zero if not set.
type instant struct{ value time.Time }

var _ pflag.Value = (*instant)(nil)

func (i *instant) Type() string { return "TIME" }

func (i *instant) String() string {
	if i.value.IsZero() {
		return ""
	}
	return i.value.Format(time.RFC3339)
}

func (i *instant) Set(s string) (err error) {
	i.value, err = parseInstant(s)
	return err
}

func parseInstant(s string) (time.Time, error) {
	t, ok := period.ParseInstant(s)
	if !ok || t.IsZero() { // a zero time often means "not set", in other programs and in ours
		return time.Time{}, errors.New("it must be a time like 2026-03-03T06:00:00Z or 2026-03-03T06:00:00-05:00")
	}
	return t, nil
}

// instantOrDay is an instant that may also be written as a date, which means the start of that day.
// The time zone is known only after the pipeline file has been read.
type instantOrDay struct {
	instant
	day period.Period
}

var _ pflag.Value = (*instantOrDay)(nil)

func (i *instantOrDay) Set(s string) error {
	if day, err := period.Parse(s); err == nil && day.Size() == period.Day {
		*i = instantOrDay{day: day}
		return nil
	}
	t, err := parseInstant(s)
	if err != nil {
		return errors.New("it must be a time like 2026-03-03T06:00:00Z or a date like 2026-03-03")
	}
	*i = instantOrDay{instant: instant{t}}
	return nil
}

func (i *instantOrDay) String() string {
	if !i.day.IsZero() {
		return i.day.String()
	}
	return i.instant.String()
}

// in returns the time in the given zone, or fallback if the flag is not set.
func (i *instantOrDay) in(zone *time.Location, fallback time.Time) time.Time {
	switch {
	case !i.day.IsZero():
		return i.day.Start(zone)
	case !i.value.IsZero():
		return i.value
	default:
		return fallback
	}
}

// periodFlag is a flag for a period of any size; zero if not set.
type periodFlag struct{ period.Period }

var _ pflag.Value = (*periodFlag)(nil)

func (s *periodFlag) Type() string { return "PERIOD" }

func (s *periodFlag) Set(text string) error {
	p, err := period.Parse(text)
	if err != nil || p.IsZero() {
		return errors.New("it must be a period like 2026-03-03, 2026-03-03T10, 2026-03-03T10:15, 2026-W10, 2026-03 or 2026-Q1")
	}
	s.Period = p
	return nil
}

// filled is an optional flag whose value must not be empty. An unset variable in a script gives an
// empty value, which would otherwise select everything or mean no limit.
type filled string

var _ pflag.Value = (*filled)(nil)

func (f *filled) String() string { return string(*f) }
func (f *filled) Type() string   { return "string" }

func (f *filled) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("it is empty; remove it or set a value")
	}
	*f = filled(text)
	return nil
}

// parseLength parses the duration given with a flag; 0 if there is none. like is an example for the
// error.
func parseLength(flag, text, like string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := document.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, usagef("--%s %q is not a duration; write it like %s", flag, text, like)
	}
	return d, nil
}

// addFilled adds a flag that rejects an empty value.
func addFilled(cmd *cobra.Command, value *string, name, usage string) {
	cmd.Flags().Var((*filled)(value), name, usage)
}
