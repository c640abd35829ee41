package pipeline

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/sensor"
)

const (
	defaultProbeTimeout = 30 * time.Second
	defaultProbeTTL     = 5 * time.Minute
)

// addProbes adds the probes of the pipeline's own file.
func (b *builder) addProbes() {
	for i, s := range b.file.Probes {
		path := fmt.Sprintf("probes[%d]", i)
		probe, findings := resolveProbe(s)
		b.addUnder(path, findings)
		b.keepProbe(path, probe)
	}
}

// addProbesOf adds an archetype's probes; their problems are reported where the pipeline names the
// archetype.
func (b *builder) addProbesOf(arch *archetype, sections []ProbeSection) {
	for i, s := range sections {
		probe, findings := resolveProbe(s)
		b.blame(arch, document.Under(fmt.Sprintf("probes[%d]", i), findings))
		b.keepProbe("archetype", probe)
	}
}

// keepProbe adds a probe unless another already writes its sensor.
func (b *builder) keepProbe(path string, probe Probe) {
	if b.def.Probe(sensor.Key(probe.Key)) != nil {
		b.errorf(path, "two probes write the sensor %q; give each its own key", probe.Key)
		return
	}
	b.def.Probes = append(b.def.Probes, probe)
}

// resolveProbe applies defaults to a probe and returns what is wrong with it.
func resolveProbe(s ProbeSection) (Probe, []document.Finding) {
	p := Probe{
		Key: s.Key, URL: s.URL, Builtin: s.Builtin, Headers: s.Headers, Env: s.Env, Config: s.Config,
		TTL: defaultProbeTTL, Timeout: defaultProbeTimeout,
	}
	var findings []document.Finding
	refuse := func(path, format string, args ...any) {
		findings = append(findings, document.Finding{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	if _, suffix, err := sensor.ExternalKey(s.Key); err != nil {
		refuse("key", "%v", err)
	} else if !suffix.IsZero() {
		refuse("key", "%q contains a period; a probe's key must not", s.Key)
	}
	switch {
	case s.kinds() != 1:
		refuse("", "needs one of command, url and builtin")
	case s.Command != nil:
		words, err := s.Command.Words()
		if err != nil {
			refuse("command", "%v", err)
		} else if len(words) == 0 {
			refuse("command", "is empty; name a program")
		}
		p.Command = words
	case s.Builtin != "":
		findings = append(findings, s.Builtin.findings(s.Config)...)
	default:
		if !isAddress(s.URL) {
			refuse("url", "%q is not an absolute http or https address", s.URL)
		}
	}
	findings = append(findings, s.meaningless()...)
	findings = append(findings, p.variableFindings()...)
	override(&p.Interval, s.Interval)
	override(&p.Timeout, s.Timeout)
	if p.Interval > 0 {
		p.TTL = 2 * p.Interval // a value survives one missed interval
	}
	override(&p.TTL, s.TTL)
	return p, findings
}

// isAddress reports whether text is an http(s) URL, as far as can be determined before variables
// are filled in.
func isAddress(text string) bool {
	if strings.Contains(text, "${") {
		return true
	}
	u, err := url.Parse(text)
	return err == nil && u.Hostname() != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// kinds counts how many of command, url and builtin are set.
func (s ProbeSection) kinds() int {
	n := 0
	for _, said := range []bool{s.Command != nil, s.URL != "", s.Builtin != ""} {
		if said {
			n++
		}
	}
	return n
}

// meaningless finds settings that have no effect for this kind of probe, or that are not allowed.
func (s ProbeSection) meaningless() []document.Finding {
	findings := append(
		document.When(len(s.Headers) > 0 && s.URL == "", document.Finding{Path: "headers", Message: "only a url has headers; remove them"}),
		document.When(len(s.Env) > 0 && s.Command == nil, document.Finding{Path: "env", Message: "only a command has an environment; remove it"})...,
	)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if strings.HasPrefix(name, "INTERLOCK_") || strings.ContainsAny(name, "=\x00") || name == "" {
			findings = append(findings, document.Finding{Path: document.KeyPath("env", name), Key: true, Message: fmt.Sprintf("%q is not allowed; use letters, digits and _, without the prefix INTERLOCK_, which is reserved", name)})
		}
	}
	return findings
}

// variableFindings checks every ${…} in the texts that are filled in when the probe runs.
func (p Probe) variableFindings() []document.Finding {
	var findings []document.Finding
	check := func(path string, value any) {
		findings = append(findings, document.Under(path, variableFindings(value, probeVariables))...)
	}
	for _, word := range p.Command {
		check("command", word)
	}
	check("url", p.URL)
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		check(document.KeyPath("headers", name), p.Headers[name])
	}
	for _, name := range slices.Sorted(maps.Keys(p.Env)) {
		check(document.KeyPath("env", name), p.Env[name])
	}
	check("config", p.Config)
	return findings
}

func override(d *time.Duration, given *seconds) {
	if given != nil {
		*d = given.Duration
	}
}

// Builtin is the name of a built-in probe, which needs no program or server of the user's.
type Builtin string

const (
	FileFreshness Builtin = "file-freshness"
	HTTPStatus    Builtin = "http-status"
	SQL           Builtin = "sql"
)

var builtins = []string{string(FileFreshness), string(HTTPStatus), string(SQL)}

// FileFreshnessConfig configures file-freshness.
type FileFreshnessConfig struct {
	Path     string             `yaml:"path" required:"true" doc:"A file or a directory; a relative path starts at the project directory of the pipeline file."`
	Pattern  string             `yaml:"pattern" default:"*" doc:"The files of the directory that count, such as *.parquet."`
	MaxAge   *document.Duration `yaml:"maxAge" above:"0s" doc:"Maximum age of the newest file; default no limit."`
	MinFiles int                `yaml:"minFiles" default:"1" min:"1" doc:"Minimum number of files."`
	MinBytes int                `yaml:"minBytes" default:"0" min:"0" doc:"Minimum total size."`
}

// HTTPStatusConfig configures http-status.
type HTTPStatusConfig struct {
	URL     string            `yaml:"url" required:"true" doc:"The URL to request."`
	Method  string            `yaml:"method" enum:"GET,HEAD" default:"GET" doc:"The request method."`
	Headers map[string]string `yaml:"headers" doc:"The request headers."`
	Expect  []int             `yaml:"expect" doc:"The HTTP status codes that pass; default any 2xx."`
}

// SQLConfig configures sql.
type SQLConfig struct {
	Driver  string             `yaml:"driver" required:"true" enum:"postgres" doc:"The kind of database."`
	DSNEnv  string             `yaml:"dsnEnv" required:"true" pattern:"^[A-Za-z_][A-Za-z0-9_]*$" hint:"name an environment variable" doc:"Environment variable with the connection string; secrets.env in the server's file must allow it."`
	Query   string             `yaml:"query" required:"true" doc:"One statement that returns exactly one row; its columns are the fields."`
	Timeout *document.Duration `yaml:"timeout" above:"0s" doc:"Statement timeout; default the probe's timeout."`
}

// Config decodes config for the builtin: to a *FileFreshnessConfig, an *HTTPStatusConfig or an
// *SQLConfig. The findings say what is wrong.
func (b Builtin) Config(config map[string]any) (any, []document.Finding) {
	var into any
	switch b {
	case FileFreshness:
		into = new(FileFreshnessConfig)
	case HTTPStatus:
		into = new(HTTPStatusConfig)
	case SQL:
		into = new(SQLConfig)
	default:
		return nil, []document.Finding{{Message: fmt.Sprintf("unknown builtin probe %q; use one of %s", string(b), strings.Join(builtins, ", "))}}
	}
	if config == nil {
		config = map[string]any{}
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, []document.Finding{{Message: err.Error()}}
	}
	doc, problems := document.Parse("config", text)
	if doc == nil {
		return nil, []document.Finding{{Message: problems[0].Message}}
	}
	findings := doc.Root().Decode(into)
	return into, findings
}

// findings lists what is wrong with a config before its variables are filled in.
func (b Builtin) findings(config map[string]any) []document.Finding {
	if !slices.Contains(builtins, string(b)) {
		_, findings := b.Config(nil)
		return document.Under("builtin", findings)
	}
	read, findings := b.Config(config)
	if document.HasErrors(findings) {
		return document.Under("config", findings)
	}
	switch c := read.(type) {
	case *FileFreshnessConfig:
		if _, err := path.Match(c.Pattern, ""); err != nil {
			findings = append(findings, document.Finding{Path: "pattern", Message: fmt.Sprintf("%q is not a pattern; write one such as *.parquet", c.Pattern)})
		}
	case *HTTPStatusConfig:
		findings = append(findings, c.findings()...)
	}
	return document.Under("config", findings)
}

func (c *HTTPStatusConfig) findings() []document.Finding {
	var findings []document.Finding
	if !isAddress(c.URL) {
		findings = append(findings, document.Finding{Path: "url", Message: fmt.Sprintf("%q is not an absolute http or https address", c.URL)})
	}
	for i, code := range c.Expect {
		if code < 100 || code > 599 {
			findings = append(findings, document.Finding{Path: fmt.Sprintf("expect[%d]", i), Message: fmt.Sprintf("%d is not an HTTP status", code)})
		}
	}
	return findings
}
