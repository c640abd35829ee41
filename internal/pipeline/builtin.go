package pipeline

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
)

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
