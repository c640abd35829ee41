package deploy

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/goccy/go-yaml"

	"github.com/interlock-go/interlock/internal/settings"
)

// The chart is rendered with text/template and the few Helm functions that it uses, not with Helm's
// own engine, which needs some hundred modules. The chart stays within this subset.
func helm(t *testing.T, change func(values map[string]any)) []manifest {
	t.Helper()
	dir := filepath.Join(root, "deploy/helm/interlock")
	var values map[string]any
	var chart struct {
		Name, Version string
		AppVersion    string `yaml:"appVersion"`
	}
	check(t, yaml.Unmarshal([]byte(read(t, "deploy/helm/interlock/values.yaml")), &values))
	check(t, yaml.Unmarshal([]byte(read(t, "deploy/helm/interlock/Chart.yaml")), &chart))
	change(values)
	all := template.New("chart").Option("missingkey=error")
	all.Funcs(helmFunctions(all))
	files, err := filepath.Glob(filepath.Join(dir, "templates", "*"))
	check(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(t, err)
		template.Must(all.New(filepath.Base(file)).Parse(string(text)))
	}
	data := map[string]any{
		"Values": values, "Chart": map[string]any{"Name": chart.Name, "Version": chart.Version, "AppVersion": chart.AppVersion},
		"Release": map[string]any{"Name": "prod", "Namespace": "data", "Service": "Helm"},
	}
	var objects []manifest
	for _, file := range files {
		var out strings.Builder
		check(t, all.ExecuteTemplate(&out, filepath.Base(file), data))
		if !strings.HasSuffix(file, ".yaml") {
			continue
		}
		for part := range strings.SplitSeq(out.String(), "\n---\n") {
			if strings.TrimSpace(part) == "" {
				continue
			}
			var m manifest
			if err := yaml.Unmarshal([]byte(part), &m); err != nil {
				t.Fatalf("%s: %v\n%s", filepath.Base(file), err, part)
			}
			objects = append(objects, m)
		}
	}
	return objects
}

func helmFunctions(all *template.Template) template.FuncMap {
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
		"default": func(usual, given any) any {
			if given == nil || given == "" {
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

func TestChartWithEverythingOn(t *testing.T) {
	all := helm(t, func(v map[string]any) {
		v["replicas"] = 3
		v["pipelines"] = map[string]any{"orders.yaml": "pipeline: {id: orders, owner: data}\n"}
		v["ingress"].(map[string]any)["enabled"] = true
		v["ingress"].(map[string]any)["tlsSecret"] = "cert"
		v["metrics"].(map[string]any)["serviceMonitor"].(map[string]any)["enabled"] = true
		v["config"].(map[string]any)["store"] = "redis://redis:6379/0"
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
