package arch

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// mayConnect lists the packages that open connections of their own, and why they do not pass the
// guard of internal/egress. Everybody else is handed a client, a transport or a dialling function
// of the guard's.
var mayConnect = map[string]string{
	"internal/egress":                  "it is the guard",
	"client":                           "it speaks to the server that its user names, from the user's own machine",
	"internal/demo":                    "its simulated sources write to the server that the demo itself has started",
	"internal/awslambda/awslambdatest": "it reads the streams of tables that its tests have made on this machine",
	"internal/store/redistest":         "it speaks to the servers that it has started on this machine",
	"bench":                            "it measures servers that it has started on this machine",
}

// connecting are the names of the standard library that connect, or that create a client with a
// default connection. Creating a value of such a type is checked, using a pointer to one is not.
// "*" stands for all names.
var connecting = map[string][]string{
	"net": {
		"Dial", "DialTimeout", "DialTCP", "DialUDP", "DialIP", "DialUnix", "Dialer", "DefaultResolver", "Resolver",
		"LookupAddr", "LookupCNAME", "LookupHost", "LookupIP", "LookupMX", "LookupNS", "LookupPort", "LookupSRV", "LookupTXT",
	},
	"net/http":        {"Client", "DefaultClient", "DefaultTransport", "Get", "Head", "Post", "PostForm", "Transport"},
	"crypto/tls":      {"Dial", "DialWithDialer", "Dialer"},
	"net/rpc":         {"*"},
	"net/rpc/jsonrpc": {"*"},
	"net/smtp":        {"*"},
}

// foreign says of every library that the product imports whether it connects: which packages may
// import it then, and how its connections pass the guard. A library without rooms opens none. The
// longest entry that fits counts.
var foreign = map[string]struct {
	rooms []string
	how   string
}{
	"github.com/aws/aws-sdk-go-v2":                    {}, // a client connects with what internal/job/awsapi gives it
	"github.com/aws/aws-sdk-go-v2/aws/transport/http": {awsSetUp, "awsapi puts the guard into its dialer"},
	"github.com/aws/aws-sdk-go-v2/config":             {awsSetUp, "awsapi gives it a client that is guarded"},
	"github.com/aws/aws-sdk-go-v2/credentials":        {awsSetUp, "awsapi gives it a client that is guarded"},
	"github.com/aws/aws-sdk-go-v2/feature":            {awsSetUp, "awsapi gives it a client that is guarded"},
	"github.com/aws/smithy-go":                        {},
	"github.com/aws/aws-lambda-go":                    {}, // its runtime is asked for calls by the functions alone
	"github.com/jackc/pgx/v5":                         {[]string{"internal/archive", "internal/archive/pgtest", "internal/evaluator", "bench"}, "not at all: only the operator's environment names the Postgres of the archive and of sql probes"},
	"github.com/slack-go/slack":                       {[]string{"internal/sink/slack"}, "the sink gives it the guard's client"},
	"github.com/coreos/go-oidc/v3":                    {[]string{"internal/oidc"}, "it is given the guard's client"},
	"golang.org/x/oauth2":                             {[]string{"internal/oidc"}, "it is given the guard's client"},
	"github.com/wneessen/go-mail":                     {[]string{"internal/sink/email"}, "the sink gives it the guard's way of dialling"},
	"go.opentelemetry.io/otel":                        {},
	"go.opentelemetry.io/proto/otlp":                  {},
	"google.golang.org/protobuf":                      {},
	"github.com/redis/go-redis/v9":                    {[]string{"internal/store/redis"}, "not at all: only the operator names the Redis that keeps the data"},

	"github.com/anishathalye/porcupine":                       {},
	"github.com/danielgtaylor/huma/v2":                        {},
	"github.com/goccy/go-yaml":                                {},
	"github.com/google/go-cmp":                                {},
	"github.com/google/jsonschema-go":                         {},
	"github.com/hashicorp/hcl/v2":                             {},
	"github.com/prometheus/client_golang/prometheus":          {},
	"github.com/prometheus/client_golang/prometheus/push":     {[]string{}, "metrics are scraped, not pushed"},
	"github.com/prometheus/client_golang/prometheus/graphite": {[]string{}, "metrics are scraped, not pushed"},
	"github.com/robfig/cron/v3":                               {},
	"github.com/spf13/cobra":                                  {},
	"github.com/spf13/pflag":                                  {},
	"github.com/theory/jsonpath":                              {},
	"github.com/zclconf/go-cty":                               {},
	"golang.org/x/sys/unix":                                   {}, // used for what a process says about itself
	"golang.org/x/term":                                       {},
	"golang.org/x/text":                                       {},
	"modernc.org/sqlite":                                      {},
	"pgregory.net/rapid":                                      {},
}

// awsSetUp are the packages that set up the AWS SDK for others.
var awsSetUp = []string{"internal/job/awsapi", "internal/awslambda/awscall", "internal/store/dynamo"}

// checkConnections reports what connects past the guard. Tests may: they speak to servers of their
// own.
func (s source) checkConnections() {
	names := map[string]string{} // by which this file knows packages that connect
	for _, spec := range s.file.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil || strings.HasPrefix(target, module) {
			continue
		}
		if strings.Contains(strings.SplitN(target, "/", 2)[0], ".") {
			s.checkForeign(spec, target)
			continue
		}
		if len(connecting[target]) > 0 && mayConnect[s.dir] == "" {
			names[localName(spec, target)] = target
		}
	}
	if target, dotted := names["."]; dotted {
		s.report(s.file.Package, "%s may not import %s with a dot: its connections could not be checked", s.dir, target)
	}
	pointers := map[ast.Node]bool{}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.StarExpr:
			pointers[n.X] = true
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			if !ok || names[pkg.Name] == "" || pointers[n] {
				return true
			}
			target := names[pkg.Name]
			if listed := connecting[target]; slices.Contains(listed, n.Sel.Name) || listed[0] == "*" {
				s.report(n.Pos(), "%s may not use %s.%s: connect through internal/egress, or say in internal/arch why not", s.dir, target, n.Sel.Name)
			}
		}
		return true
	})
}

// checkForeign reports a library that is not listed, or one that is used outside its packages.
func (s source) checkForeign(spec *ast.ImportSpec, target string) {
	best := ""
	for prefix := range foreign {
		if (target == prefix || strings.HasPrefix(target, prefix+"/")) && len(prefix) > len(best) {
			best = prefix
		}
	}
	switch lib := foreign[best]; {
	case best == "":
		s.report(spec.Pos(), "%s imports %s: say in internal/arch/connection_test.go whether it connects, and how that passes the guard", s.dir, target)
	case lib.how != "" && !slices.Contains(lib.rooms, s.dir):
		s.report(spec.Pos(), "%s may not import %s, which connects: only %s may (%s)", s.dir, target, strings.Join(lib.rooms, ", "), lib.how)
	}
}
