package deploy

import (
	"encoding/json"
	"slices"
	"testing"
)

// manifest is the part of a Kubernetes object that these tests check.
type manifest struct {
	Kind     string `yaml:"kind"`
	Metadata struct {
		Name      string            `yaml:"name"`
		Namespace string            `yaml:"namespace"`
		Labels    map[string]string `yaml:"labels"`

		Annotations map[string]string `yaml:"annotations"`
	} `yaml:"metadata"`
	Data map[string]string `yaml:"data"`
	Spec struct {
		Replicas int           `yaml:"replicas"`
		Ports    []servicePort `yaml:"ports"`
		Update   struct {
			Type string `yaml:"type"`
		} `yaml:"updateStrategy"`
		Template struct {
			Metadata struct {
				Annotations map[string]string `yaml:"annotations"`
			} `yaml:"metadata"`
			Spec struct {
				Security struct {
					NonRoot bool `yaml:"runAsNonRoot"`
					User    int  `yaml:"runAsUser"`
				} `yaml:"securityContext"`
				Init       []container `yaml:"initContainers"`
				Containers []container `yaml:"containers"`
				Volumes    []object    `yaml:"volumes"`
			} `yaml:"spec"`
		} `yaml:"template"`
		Claims []struct {
			Metadata object `yaml:"metadata"`
			Spec     struct {
				Modes []string `yaml:"accessModes"`
			} `yaml:"spec"`
		} `yaml:"volumeClaimTemplates"`
	} `yaml:"spec"`
}

type servicePort struct {
	Name string `yaml:"name"`
	Port int    `yaml:"port"`
}

type object struct {
	Name string `yaml:"name"`
}

type container struct {
	Name  string   `yaml:"name"`
	Image string   `yaml:"image"`
	Args  []string `yaml:"args"`

	Command []string `yaml:"command"`

	Env   []object `yaml:"env"`
	Ports []object `yaml:"ports"`

	Mounts []struct {
		Name string `yaml:"name"`
		Path string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
	StartupProbe   probe `yaml:"startupProbe"`
	LivenessProbe  probe `yaml:"livenessProbe"`
	ReadinessProbe probe `yaml:"readinessProbe"`
}

type probe struct {
	HTTP struct {
		Path string `yaml:"path"`
		Port string `yaml:"port"`
	} `yaml:"httpGet"`
}

func manifests(t testing.TB, kind string) []manifest {
	t.Helper()
	return slices.DeleteFunc(documents[manifest](t, "deploy/kubernetes/interlock.yaml"), func(m manifest) bool { return m.Kind != kind })
}

// pods returns the containers of the controllers.
func pods(t testing.TB) []container {
	t.Helper()
	sets := manifests(t, "StatefulSet")
	if len(sets) != 1 || len(sets[0].Spec.Template.Spec.Containers) != 1 {
		t.Fatalf("not one StatefulSet of one container: %+v", sets)
	}
	return sets[0].Spec.Template.Spec.Containers
}

// settingsOfPods returns their server's file.
func settingsOfPods(t testing.TB) string {
	t.Helper()
	return manifests(t, "ConfigMap")[0].Data["interlock.yaml"]
}

func TestPodsAreTwoAndUnprivileged(t *testing.T) {
	spec := manifests(t, "StatefulSet")[0].Spec
	if spec.Replicas != 2 {
		t.Errorf("%d replicas", spec.Replicas)
	}
	all := stages(t)
	if s := spec.Template.Spec.Security; !s.NonRoot || all[len(all)-1].arguments("USER")[0] != jsonText(t, s.User) {
		t.Errorf("they run as %+v, the image as %v", s, all[len(all)-1].arguments("USER"))
	}
}

func TestProbesNameRoutesThatExist(t *testing.T) {
	var api struct {
		Paths map[string]any `json:"paths"`
	}
	check(t, json.Unmarshal([]byte(read(t, "api/openapi.json")), &api))
	for _, c := range pods(t) {
		for name, p := range map[string]probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
			if api.Paths[p.HTTP.Path] == nil {
				t.Errorf("the %s probe asks for %q, which the API does not have", name, p.HTTP.Path)
			}
			if !slices.Contains(c.Ports, object{p.HTTP.Port}) {
				t.Errorf("the %s probe asks at port %q, which the container does not have", name, p.HTTP.Port)
			}
		}
		if c.LivenessProbe.HTTP.Path == c.ReadinessProbe.HTTP.Path {
			t.Error("a controller that waits for Redis would be killed for it")
		}
	}
}

func TestMountsOfPodsHaveVolumes(t *testing.T) {
	spec := manifests(t, "StatefulSet")[0].Spec
	volumes := spec.Template.Spec.Volumes
	for _, c := range spec.Claims {
		volumes = append(volumes, c.Metadata)
	}
	for _, m := range pods(t)[0].Mounts {
		if !slices.Contains(volumes, object{m.Name}) {
			t.Errorf("%s is mounted from %s, which is no volume", m.Path, m.Name)
		}
	}
}

func jsonText(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	check(t, err)
	return string(text)
}
