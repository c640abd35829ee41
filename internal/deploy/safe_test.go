package deploy

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// set sets a value by its path, as helm --set does.
func set(values map[string]any, path string, value any) {
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		inner, ok := values[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			values[key] = inner
		}
		values = inner
	}
	values[keys[len(keys)-1]] = value
}

// with returns a change that sets values by their paths.
func with(values map[string]any) func(map[string]any) {
	return func(all map[string]any) {
		for path, value := range values {
			set(all, path, value)
		}
	}
}

// unsafe are values that the chart refuses, and what it says.
var unsafe = []struct {
	name   string
	values map[string]any
	want   string
}{
	{"several replicas without a store", map[string]any{"replicas": 3}, "set config.store=redis://HOST:6379/0, or replicas=1"},
	{"several replicas on the embedded store", map[string]any{"replicas": 2, "config.store": "sqlite"}, "set config.store=redis://HOST:6379/0, or replicas=1"},
	{"a store that does not exist", map[string]any{"config.store": "etcd://etcd:2379"}, "config.store is not a store of this chart"},
	{"two stores", map[string]any{"config.store": "redis://a:6379/0", "config.redis.addr": "b:6379"}, "both name a store"},
	{"an embedded store and a Redis", map[string]any{"config.store": "sqlite", "config.redis.addr": "b:6379"}, "both name a store"},
	{"settings of a Redis that is not named", map[string]any{"config.redis.passwordEnv": "REDIS_PASSWORD"}, "no Redis is named"},
	{"a password in the config map", map[string]any{"config.store": "redis://:secret-word@a:6379/0"}, "contains a password"},
	{"a volume of several nodes", map[string]any{"persistence.accessMode": "ReadWriteMany"}, "use ReadWriteOnce or ReadWriteOncePod"},
	{"an autoscaler", map[string]any{"autoscaling.enabled": true}, "autoscaling"},
	{"another update strategy", map[string]any{"updateStrategy.type": "OnDelete"}, "updateStrategy"},
	{"no volume, without saying what is lost", map[string]any{"persistence.enabled": false}, "enabled"},
	{"an address that the chart sets", map[string]any{"config.listen": "127.0.0.1:8740"}, "config.listen cannot be set"},
	{"a data directory outside the volume", map[string]any{"config.data": "/tmp/data"}, "config.data cannot be set"},
	{"pipelines from two places", map[string]any{"pipelines": map[string]any{"a.yaml": "a"}, "pipelinesConfigMap": "b"}, "both set"},
	{"an ingress without a name", map[string]any{"ingress.enabled": true}, "needs ingress.host"},
	{"scraping without a token of its own", map[string]any{"metrics.serviceMonitor.enabled": true}, "a token of the role viewer"},
	{"text for a number", map[string]any{"replicas": "3"}, "replicas"},
}

func TestChartRefusesWhatCannotBeSafe(t *testing.T) {
	for _, u := range unsafe {
		t.Run(u.name, func(t *testing.T) {
			_, err := release{}.render(t, with(u.values))
			if err == nil || !strings.Contains(err.Error(), u.want) {
				t.Fatalf("want %q, got %v", u.want, err)
			}
			if strings.Contains(err.Error(), "secret-word") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

func TestChartAcceptsWhatIsSafe(t *testing.T) {
	for name, values := range map[string]map[string]any{
		"one replica":                     {},
		"none":                            {"replicas": 0},
		"one replica, embedded, in words": {"config.store": "sqlite"},
		"replicas on a Redis":             {"replicas": 3, "config.store": "redis://redis:6379/0"},
		"replicas on a Redis with TLS":    {"replicas": 3, "config.store": "rediss://interlock@redis:6380/0", "config.redis.passwordEnv": "P", "secretEnv.P": "p"},
		"replicas on a Redis, older form": {"replicas": 3, "config.redis.addr": "redis:6379"},
		"a volume of one pod":             {"persistence.accessMode": "ReadWriteOncePod"},
		"no volume, explicitly":           {"persistence.ephemeral": true},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := (release{}).render(t, with(values)); err != nil {
				t.Error(err)
			}
		})
	}
}

// statefulSet returns the StatefulSet of a chart with these values.
func statefulSet(t *testing.T, values map[string]any) manifest {
	t.Helper()
	return ofKind(helm(t, with(values)), "StatefulSet")[0]
}

func TestPodsOfAnEmbeddedStoreAreNeverTwo(t *testing.T) {
	pod := statefulSet(t, nil).Spec.Template.Spec
	if len(pod.Init) != 1 {
		t.Fatalf("no container refuses a second pod: %+v", pod.Init)
	}
	line := pod.Init[0].Command
	for name, accepted := range map[string]bool{"prod-0": true, "prod-1": false, "prod-10": false, "eu-0-2": false} {
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Env = []string{"POD=" + name}
		out, err := cmd.CombinedOutput()
		if (err == nil) != accepted {
			t.Errorf("%s: %v", name, err)
		}
		if said := strings.Contains(string(out), "scale to 1"); said == accepted {
			t.Errorf("%s: it says %q", name, out)
		}
	}
	if shared := statefulSet(t, map[string]any{"replicas": 2, "config.store": "redis://redis:6379/0"}); len(shared.Spec.Template.Spec.Init) > 0 {
		t.Error("a second pod on a Redis is refused")
	}
}

func TestReplicasRefuseAnEmbeddedStore(t *testing.T) {
	several := statefulSet(t, map[string]any{"replicas": 2, "config.store": "redis://redis:6379/0"}).Spec.Template.Spec.Containers[0]
	if !slices.Contains(several.Args, "--shared-store") {
		t.Errorf("the chart's replicas would start on an embedded store: %v", several.Args)
	}
	if one := statefulSet(t, nil).Spec.Template.Spec.Containers[0]; slices.Contains(one.Args, "--shared-store") {
		t.Errorf("a single replica would not start: %v", one.Args)
	}
	for _, c := range pods(t) {
		if !slices.Contains(c.Args, "--shared-store") {
			t.Errorf("the pods of the manifest would start on an embedded store: %v", c.Args)
		}
	}
	for name, s := range compose(t).controllers() {
		if !slices.Contains(s.Command, "--shared-store") {
			t.Errorf("%s of the compose file would start on an embedded store: %v", name, s.Command)
		}
	}
}

func TestPodsNeverOverlap(t *testing.T) {
	for where, m := range map[string]manifest{"chart": statefulSet(t, nil), "manifest": manifests(t, "StatefulSet")[0]} {
		if m.Spec.Update.Type != "RollingUpdate" || len(m.Spec.Claims) != 1 {
			t.Errorf("%s: update strategy %q, %d claims", where, m.Spec.Update.Type, len(m.Spec.Claims))
		}
		for _, c := range m.Spec.Claims {
			if want := []string{"ReadWriteOnce"}; !cmp.Equal(c.Spec.Modes, want) {
				t.Errorf("%s: the volume %s has the modes %v", where, c.Metadata.Name, c.Spec.Modes)
			}
		}
	}
}

func TestNoVolumeOnlyIfSaidExplicitly(t *testing.T) {
	set := statefulSet(t, map[string]any{"persistence.ephemeral": true})
	if len(set.Spec.Claims) > 0 || !slices.Contains(set.Spec.Template.Spec.Volumes, object{"data"}) {
		t.Errorf("claims %+v, volumes %v", set.Spec.Claims, set.Spec.Template.Spec.Volumes)
	}
}

func TestChangedSettingsRestartThePods(t *testing.T) {
	sum := func(values map[string]any) string {
		return statefulSet(t, values).Spec.Template.Metadata.Annotations["checksum/config"]
	}
	usual := sum(nil)
	if usual == "" || sum(nil) != usual {
		t.Fatalf("the checksum of the same file is %q and then %q", usual, sum(nil))
	}
	if sum(map[string]any{"config.watchdog.interval": "30s"}) == usual {
		t.Error("pods would keep the old settings: they read the file at start")
	}
	if sum(map[string]any{"pipelines": map[string]any{"a.yaml": "pipeline: {id: a, owner: b}"}}) != usual {
		t.Error("a new pipeline restarts the pods, which read it without")
	}
	annotated := statefulSet(t, map[string]any{"podAnnotations.team": "data"}).Spec.Template.Metadata.Annotations
	if annotated["team"] != "data" || annotated["checksum/config"] != usual {
		t.Errorf("annotations %v", annotated)
	}
}

// A rolling upgrade to another store would run pods on both.
func TestStoreIsNotChangedUnderRunningPods(t *testing.T) {
	before := statefulSet(t, nil).Metadata.Annotations
	moved := map[string]any{"replicas": 2, "config.store": "redis://redis:6379/0"}
	for _, c := range []struct {
		name    string
		running map[string]any
		values  map[string]any
		refused bool
	}{
		{"the same store", runningSet(1, before), nil, false},
		{"another store", runningSet(1, before), moved, true},
		{"another store, after the pods have ended", runningSet(0, before), moved, false},
		{"another store, to no pods", runningSet(1, before), map[string]any{"replicas": 0, "config.store": "redis://redis:6379/0"}, false},
		{"an older chart, which did not record it", runningSet(1, nil), moved, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := release{running: c.running}.render(t, with(c.values))
			if refused := err != nil && strings.Contains(err.Error(), "upgrade with replicas=0 first"); refused != c.refused || err != nil && !refused {
				t.Errorf("got %v", err)
			}
		})
	}
}

// runningSet is a StatefulSet in a cluster.
func runningSet(pods int, annotations map[string]string) map[string]any {
	all := map[string]any{}
	for k, v := range annotations {
		all[k] = v
	}
	return map[string]any{"metadata": map[string]any{"annotations": all}, "status": map[string]any{"replicas": pods}}
}

func TestHelmRendersTheSame(t *testing.T) {
	program, err := exec.LookPath("helm")
	if err != nil {
		t.Skip("there is no helm: only the other tests have rendered the chart")
	}
	run := func(t *testing.T, values map[string]any) (string, error) {
		t.Helper()
		text, err := yaml.Marshal(chartValues(t, with(values)))
		check(t, err)
		file := filepath.Join(t.TempDir(), "values.yaml")
		check(t, os.WriteFile(file, text, 0o600))
		out, err := exec.Command(program, "template", "prod", filepath.Join(root, chartDir), "--namespace", "data", "--values", file).CombinedOutput()
		return string(out), err
	}
	for _, u := range unsafe {
		if out, err := run(t, u.values); err == nil || !strings.Contains(out, u.want) {
			t.Errorf("%s: want %q, got %v: %s", u.name, u.want, err, out)
		}
	}
	for _, values := range []map[string]any{{}, {"replicas": 3, "config.store": "redis://redis:6379/0"}, {"persistence.ephemeral": true}} {
		out, err := run(t, values)
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if diff := cmp.Diff(byName(helm(t, with(values))), byName(objectsOf(t, out))); diff != "" {
			t.Errorf("%v (-here +helm):\n%s", values, diff)
		}
	}
}

// byName returns objects by kind and name, without the checksum, which depends on the order of keys
// that the YAML library writes.
func byName(all []manifest) map[string]manifest {
	out := map[string]manifest{}
	for _, m := range all {
		delete(m.Spec.Template.Metadata.Annotations, "checksum/config")
		m.Data = maps.Collect(func(yield func(string, string) bool) {
			for name := range m.Data {
				yield(name, "")
			}
		})
		out[m.Kind+" "+m.Metadata.Name] = m
	}
	return out
}
