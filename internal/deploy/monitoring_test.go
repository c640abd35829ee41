package deploy

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/interlock-go/interlock/internal/metrics"
)

// metricName finds metric names in PromQL and in Go, without the suffixes of histograms.
var (
	metricName = regexp.MustCompile(`\b(interlock|go|process)_[a-z0-9_]+`)
	metricInGo = regexp.MustCompile(`"(interlock_[a-z0-9]+_[a-z0-9_]+)"`)
)

// registered returns the names of the metrics that the binary registers.
func registered(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, dir := range []string{"internal/metrics", "internal/api", "cmd/interlock"} {
		check(t, fs.WalkDir(os.DirFS(filepath.Join(root, dir)), ".", func(name string, _ fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
				for _, m := range metricInGo.FindAllStringSubmatch(read(t, dir+"/"+name), -1) {
					names[m[1]] = true
				}
			}
			return err
		}))
	}
	r := prometheus.NewRegistry()
	metrics.Process(r, "v1", "abc")
	families, err := r.Gather()
	check(t, err)
	for _, f := range families {
		names[f.GetName()] = true
	}
	return names
}

// checkNamed reports every metric in text that nothing registers.
func checkNamed(t *testing.T, where, text string, names map[string]bool) {
	t.Helper()
	for _, name := range metricName.FindAllString(text, -1) {
		base := name
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			base = strings.TrimSuffix(base, suffix)
		}
		if !names[name] && !names[base] {
			t.Errorf("%s names %s, which no program shows", where, name)
		}
	}
}

// measured matches the metrics of the AWS functions.
var measured = regexp.MustCompile(`interlock_[a-z_]+`)

func TestMonitoringNamesMetricsThatExist(t *testing.T) {
	names := registered(t)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Query any }
		}
	}
	check(t, json.Unmarshal([]byte(read(t, "deploy/monitoring/dashboard.json")), &dashboard))
	queries := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			queries++
			checkNamed(t, "the panel "+p.Title, target.Expr, names)
		}
	}
	if queries < 20 {
		t.Errorf("the dashboard has only %d queries", queries)
	}
	checkNamed(t, "rules.yaml", read(t, "deploy/monitoring/rules.yaml"), names)
	page, onAWS := read(t, "docs/METRICS.md"), map[string]bool{}
	for _, name := range measured.FindAllString(read(t, "internal/awslambda/meter.go"), -1) {
		onAWS[name], names[name] = true, true
	}
	for _, file := range []string{"deploy/terraform/dashboard.tf", "deploy/terraform/alarms.tf"} {
		checkNamed(t, file, read(t, file), onAWS)
	}
	checkNamed(t, "METRICS.md", page, names)
	for name := range names {
		if strings.HasPrefix(name, "interlock_") && !strings.Contains(page, "`"+name+"`") {
			t.Errorf("docs/METRICS.md does not list %s", name)
		}
	}
}

func TestAlertRulesPassTheirTests(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool; install the Debian package prometheus")
	}
	for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "rules_test.yaml"}} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = filepath.Join(root, "deploy/monitoring")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

func TestEveryAlertRuleHasATest(t *testing.T) {
	alerts := regexp.MustCompile(`(?m)^ *- alert: (\w+)`).FindAllStringSubmatch(read(t, "deploy/monitoring/rules.yaml"), -1)
	tests := read(t, "deploy/monitoring/rules_test.yaml")
	for _, a := range alerts {
		if !regexp.MustCompile(`alertname: ` + a[1] + `\n *exp_alerts:`).MatchString(tests) {
			t.Errorf("no test expects the alert %s", a[1])
		}
	}
}

// serviceMonitor is the part of a ServiceMonitor that this test reads.
type serviceMonitor struct {
	Spec struct {
		Selector struct {
			MatchLabels map[string]string `yaml:"matchLabels"`
		} `yaml:"selector"`
		Endpoints []struct {
			Port string `yaml:"port"`
			Path string `yaml:"path"`
		} `yaml:"endpoints"`
	} `yaml:"spec"`
}

func TestServiceMonitorFindsTheService(t *testing.T) {
	monitor := documents[serviceMonitor](t, "deploy/monitoring/servicemonitor.yaml")[0]
	service := manifests(t, "Service")[0]
	for k, v := range monitor.Spec.Selector.MatchLabels {
		if service.Metadata.Labels[k] != v {
			t.Errorf("the Service has the labels %v, the ServiceMonitor wants %s=%s", service.Metadata.Labels, k, v)
		}
	}
	e := monitor.Spec.Endpoints[0]
	if !slices.ContainsFunc(service.Spec.Ports, func(p servicePort) bool { return p.Name == e.Port }) || e.Path != "/metrics" {
		t.Errorf("the ServiceMonitor scrapes %s at port %s; the Service has %v", e.Path, e.Port, service.Spec.Ports)
	}
}
