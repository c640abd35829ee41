package deploy

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/interlock-go/interlock/internal/settings"
)

// The chart is rendered with text/template and the few Helm functions that it uses, not with Helm's
// own engine, which needs some hundred modules. The chart stays within this subset. Where Helm is
// installed, TestHelmRendersTheSame compares the two.
func helm(t *testing.T, change func(values map[string]any)) []manifest {
	t.Helper()
	objects, err := release{}.render(t, change)
	check(t, err)
	return objects
}

const chartDir = "deploy/helm/interlock"

// release is an installed chart. Its StatefulSet in the cluster is what lookup finds.
type release struct {
	running map[string]any
	upgrade bool
}

// chartValues returns the default values after a change, as Helm passes them to templates.
func chartValues(t *testing.T, change func(values map[string]any)) map[string]any {
	t.Helper()
	var values map[string]any
	check(t, yaml.Unmarshal([]byte(read(t, chartDir+"/values.yaml")), &values))
	change(values)
	return values
}

// render returns the objects, or the error of the values' schema or of the template's fail.
func (r release) render(t *testing.T, change func(values map[string]any)) ([]manifest, error) {
	t.Helper()
	values := chartValues(t, change)
	if err := checkValues(t, values); err != nil {
		return nil, err
	}
	var chart struct {
		Name, Version string
		AppVersion    string `yaml:"appVersion"`
	}
	check(t, yaml.Unmarshal([]byte(read(t, chartDir+"/Chart.yaml")), &chart))
	all := template.New("chart")
	all.Funcs(r.helmFunctions(all))
	files, err := filepath.Glob(filepath.Join(root, chartDir, "templates", "*"))
	check(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(t, err)
		template.Must(all.New(filepath.Base(file)).Parse(string(text)))
	}
	data := map[string]any{
		"Values": values, "Chart": map[string]any{"Name": chart.Name, "Version": chart.Version, "AppVersion": chart.AppVersion},
		"Release": map[string]any{"Name": "prod", "Namespace": "data", "Service": "Helm", "IsUpgrade": r.upgrade},
	}
	var objects []manifest
	for _, file := range files {
		var out strings.Builder
		if err := all.ExecuteTemplate(&out, filepath.Base(file), data); err != nil {
			return nil, err
		}
		if strings.Contains(out.String(), "<no value>") {
			t.Errorf("%s refers to a value that does not exist:\n%s", filepath.Base(file), out.String())
		}
		if strings.HasSuffix(file, ".yaml") {
			objects = append(objects, objectsOf(t, out.String())...)
		}
	}
	return objects, nil
}

// objectsOf decodes the objects of a rendered file.
func objectsOf(t *testing.T, text string) []manifest {
	t.Helper()
	var objects []manifest
	for part := range strings.SplitSeq(text, "\n---\n") {
		var m manifest
		if err := yaml.Unmarshal([]byte(part), &m); err != nil {
			t.Fatalf("%v\n%s", err, part)
		}
		if m.Kind != "" {
			objects = append(objects, m)
		}
	}
	return objects
}

// checkValues checks values against the chart's schema.
func checkValues(t *testing.T, values map[string]any) error {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(read(t, chartDir+"/values.schema.json")))
	check(t, err)
	c := jsonschema.NewCompiler()
	check(t, c.AddResource("values.schema.json", parsed))
	schema, err := c.Compile("values.schema.json")
	check(t, err)
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(jsonText(t, values)))
	check(t, err)
	return schema.Validate(value)
}

func (r release) helmFunctions(all *template.Template) template.FuncMap {
	indent := func(n int, text string) string {
		return strings.Repeat(" ", n) + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", n))
	}
	return template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var out strings.Builder
			err := all.ExecuteTemplate(&out, name, data)
			return out.String(), err
		},
		"toYaml": func(v any) (string, error) {
			text, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"nindent":    func(n int, text string) string { return "\n" + indent(n, text) },
		"quote":      func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"trunc":      func(n int, text string) string { return text[:min(n, len(text))] },
		"trimSuffix": func(suffix, text string) string { return strings.TrimSuffix(text, suffix) },
		"hasPrefix":  func(prefix, text string) bool { return strings.HasPrefix(text, prefix) },
		"regexMatch": regexp.MatchString,
		"toString":   func(v any) string { return fmt.Sprint(v) },
		"int": func(v any) int {
			n, _ := strconv.Atoi(fmt.Sprint(v)) // 0 for nothing, as in Helm
			return n
		},
		"sha256sum": func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) },
		"dict":      func() map[string]any { return map[string]any{} },
		"list":      func(all ...any) []any { return all },
		"has":       func(one any, all []any) bool { return slices.Contains(all, one) },
		"hasKey": func(m map[string]any, key string) bool {
			_, has := m[key]
			return has
		},
		"fail":   func(message string) (string, error) { return "", errors.New(message) },
		"lookup": func(_, _, _, _ string) map[string]any { return r.running },
		"default": func(usual, given any) any {
			if set, _ := template.IsTrue(given); !set {
				return usual
			}
			return given
		},
	}
}

func ofKind(all []manifest, kind string) []manifest {
	return slices.DeleteFunc(slices.Clone(all), func(m manifest) bool { return m.Kind != kind })
}

func TestChartRendersWhatTheServerNeeds(t *testing.T) {
	all := helm(t, func(map[string]any) {})
	sets, maps := ofKind(all, "StatefulSet"), ofKind(all, "ConfigMap")
	if len(sets) != 1 || len(maps) != 2 || len(ofKind(all, "Service")) != 1 || len(ofKind(all, "PodDisruptionBudget")) != 1 || len(ofKind(all, "Ingress")) != 0 {
		t.Fatalf("%d objects: %+v", len(all), all)
	}
	pod := sets[0].Spec.Template.Spec
	c := pod.Containers[0]
	var given []string
	for _, e := range c.Env {
		given = append(given, e.Name)
	}
	checkServer(t, "the chart's config map", maps[0].Data["interlock.yaml"], given)
	if c.Image != "ghcr.io/interlock-go/interlock:v0.1.0" || c.ReadinessProbe.HTTP.Path != "/readyz" || !pod.Security.NonRoot {
		t.Errorf("container %+v", c)
	}
	mounted := map[string]bool{}
	for _, m := range c.Mounts {
		mounted[m.Name] = true
	}
	for _, v := range append(pod.Volumes, sets[0].Spec.Claims[0].Metadata) {
		if !mounted[v.Name] {
			t.Errorf("the volume %s is mounted nowhere", v.Name)
		}
		delete(mounted, v.Name)
	}
	if len(mounted) > 0 {
		t.Errorf("mounts without a volume: %v", mounted)
	}
	monitor := documents[serviceMonitor](t, "deploy/monitoring/servicemonitor.yaml")[0]
	for k, v := range monitor.Spec.Selector.MatchLabels {
		if got := ofKind(all, "Service")[0].Metadata.Labels[k]; got != v {
			t.Errorf("the Service has %s=%s, which the ServiceMonitor does not select", k, got)
		}
	}
}

func TestChartRefusesAnEmptyVolumeFromTheFirstUpgradeOn(t *testing.T) {
	shared := func(v map[string]any) { set(v, "config.store", "redis://redis:6379/0") }
	for name, c := range map[string]struct {
		release release
		change  func(map[string]any)
		want    bool
	}{
		"installed":            {release{}, func(map[string]any) {}, false},
		"upgraded":             {release{upgrade: true}, func(map[string]any) {}, true},
		"upgraded, on a Redis": {release{upgrade: true}, shared, false},
		"upgraded, no volume":  {release{upgrade: true}, func(v map[string]any) { set(v, "persistence.ephemeral", true) }, false},
		"always":               {release{}, func(v map[string]any) { set(v, "persistence.mustExist", "always") }, true},
		"never":                {release{upgrade: true}, func(v map[string]any) { set(v, "persistence.mustExist", "never") }, false},
	} {
		all, err := c.release.render(t, c.change)
		check(t, err)
		args := ofKind(all, "StatefulSet")[0].Spec.Template.Spec.Containers[0].Args
		if got := slices.Contains(args, "--data-must-exist"); got != c.want {
			t.Errorf("%s: %v", name, args)
		}
	}
}

func TestChartWithEverythingOn(t *testing.T) {
	all := helm(t, func(v map[string]any) {
		v["replicas"] = 3
		v["pipelines"] = map[string]any{"orders.yaml": "pipeline: {id: orders, owner: data}\n"}
		set(v, "ingress.enabled", true)
		set(v, "ingress.host", "interlock.example.com")
		set(v, "ingress.tlsSecret", "cert")
		set(v, "metrics.serviceMonitor.enabled", true)
		set(v, "metrics.serviceMonitor.tokenSecret.key", "metrics-token")
		set(v, "config.store", "redis://redis:6379/0")
		v["env"] = []any{map[string]any{"name": "OTEL_SERVICE_NAME", "value": "interlock"}}
	})
	if len(ofKind(all, "Ingress")) != 1 || len(ofKind(all, "ServiceMonitor")) != 1 || ofKind(all, "StatefulSet")[0].Spec.Replicas != 3 {
		t.Errorf("%+v", all)
	}
	configs := ofKind(all, "ConfigMap")
	if f, problems := settings.Parse("chart", []byte(configs[0].Data["interlock.yaml"])); len(problems) > 0 || f.Store != "redis://redis:6379/0" {
		t.Errorf("store %s, problems %v", f.Store, problems)
	}
	if names := slices.Sorted(maps.Keys(configs[1].Data)); !slices.Equal(names, []string{"orders.yaml"}) {
		t.Errorf("pipelines %v", names)
	}
}
