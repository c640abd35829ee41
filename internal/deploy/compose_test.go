package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/settings"
)

const composeFile = "deploy/compose/compose.yaml"

// composed is the part of a compose file that these tests check.
type composed struct {
	Services map[string]service `yaml:"services"`
	Configs  map[string]struct {
		File string `yaml:"file"`
	} `yaml:"configs"`
	Networks map[string]struct {
		Internal bool `yaml:"internal"`
	} `yaml:"networks"`
}

type service struct {
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command"`
	Environment map[string]string `yaml:"environment"`
	Ports       []string          `yaml:"ports"`
	Networks    map[string]struct {
		Aliases []string `yaml:"aliases"`
	} `yaml:"networks"`
	Volumes     []string `yaml:"volumes"`
	Dir         string   `yaml:"working_dir"`
	HealthCheck struct {
		Test []string `yaml:"test"`
	} `yaml:"healthcheck"`
}

// controllers returns the services that run the image of the Dockerfile.
func (c composed) controllers() map[string]service {
	found := map[string]service{}
	for name, s := range c.Services {
		if s.Image == ownImage {
			found[name] = s
		}
	}
	return found
}

const ownImage = "interlock:local"

func compose(t testing.TB) composed {
	t.Helper()
	return documents[composed](t, composeFile)[0]
}

func TestTwoControllersShareARedis(t *testing.T) {
	c := compose(t)
	if n := len(c.controllers()); n != 2 {
		t.Errorf("%d controllers, want 2", n)
	}
	f, _ := settings.Parse("interlock.yaml", []byte(read(t, "deploy/compose/interlock.yaml")))
	if f.Store != "redis://redis:6379/0" {
		t.Errorf("they are on %s", f.Store)
	}
	var data []string
	for name, s := range c.controllers() {
		data = append(data, strings.SplitN(s.Volumes[0], ":", 2)[0])
		if !strings.HasSuffix(s.Volumes[0], ":"+f.Data.Dir) {
			t.Errorf("%s keeps %s in no volume", name, f.Data.Dir)
		}
	}
	if data[0] == data[1] {
		t.Errorf("both keep their identity in the volume %s", data[0])
	}
}

func TestEveryServiceHasAHealthCheck(t *testing.T) {
	for name, s := range compose(t).Services {
		if len(s.HealthCheck.Test) < 2 {
			t.Errorf("%s has none", name)
		}
	}
}

// pinned matches a tag that names one release of an image.
var pinned = regexp.MustCompile(`^[a-z]+:\d+\.\d+(\.\d+)?-[a-z]+$`)

func TestImagesArePinned(t *testing.T) {
	var images []string
	for _, s := range compose(t).Services {
		images = append(images, s.Image)
	}
	for _, stage := range stages(t) {
		images = append(images, stage.image)
	}
	for _, image := range images {
		if image != ownImage && !pinned.MatchString(image) {
			t.Errorf("%s may be another image tomorrow", image)
		}
	}
}

func TestNothingButControllersCanBeReached(t *testing.T) {
	c := compose(t)
	own := c.controllers()
	for name, s := range c.Services {
		_, controller := own[name]
		if !controller && len(s.Ports) > 0 {
			t.Errorf("%s publishes %v", name, s.Ports)
		}
		for _, p := range s.Ports {
			if !strings.HasPrefix(p, "127.0.0.1:") {
				t.Errorf("%s publishes %s to other machines", name, p)
			}
		}
		for n := range s.Networks {
			if !controller && !c.Networks[n].Internal {
				t.Errorf("%s is in the network %s, which leads outside", name, n)
			}
		}
	}
}

// variable matches a variable of the compose file, and what follows its name.
var variable = regexp.MustCompile(`\$\{([A-Z_]+)([^}]*)\}`)

func TestNoSecretHasADefault(t *testing.T) {
	example := read(t, "deploy/compose/.env.example")
	for _, m := range variable.FindAllStringSubmatch(read(t, composeFile), -1) {
		if !strings.HasPrefix(m[2], ":?") && m[2] != ":-" {
			t.Errorf("%s neither has to be set nor is empty", m[0])
		}
		if !strings.Contains(example, "\n"+m[1]+"=\n") {
			t.Errorf(".env.example does not show %s with nothing behind it", m[1])
		}
	}
}

func TestMountedFilesAreThere(t *testing.T) {
	c := compose(t)
	var sources []string
	for _, s := range c.Services {
		for _, v := range s.Volumes {
			sources = append(sources, strings.SplitN(v, ":", 2)[0])
		}
	}
	for _, f := range c.Configs {
		sources = append(sources, f.File)
	}
	for _, s := range sources {
		if !strings.HasPrefix(s, ".") {
			continue // a volume
		}
		if _, err := os.Stat(filepath.Join(root, "deploy", "compose", filepath.FromSlash(s))); err != nil {
			t.Error(err)
		}
	}
}

// scripts returns the programs that a pipeline's job names by a relative path.
var scripts = regexp.MustCompile(`command: \[(\./[a-z/.]+)`)

func TestJobsOfTheExampleAreThere(t *testing.T) {
	allIsInput(t)
	project := filepath.Join(root, "examples", "medallion")
	files, err := filepath.Glob(filepath.Join(project, "pipelines", "*.yaml"))
	check(t, err)
	var found []string
	for _, name := range files {
		data, err := os.ReadFile(name)
		check(t, err)
		for _, m := range scripts.FindAllStringSubmatch(string(data), -1) {
			found = append(found, m[1])
		}
	}
	if len(found) < 4 {
		t.Fatalf("only %v", found)
	}
	for _, script := range found {
		if out, err := exec.Command(filepath.Join(project, script), "example", "2026-03-03").CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", script, err, out)
		}
	}
}

func TestControllersWorkInTheExample(t *testing.T) {
	f, _ := settings.Parse("interlock.yaml", []byte(read(t, "deploy/compose/interlock.yaml")))
	for name, s := range compose(t).controllers() {
		if !slices.Contains(s.Volumes, "../../examples/medallion:"+s.Dir+":ro") {
			t.Errorf("%s works in %s, where its jobs are not", name, s.Dir)
		}
		for _, dir := range slices.Concat(f.Pipelines.Values, f.Calendars.Values, f.Archetypes.Values) {
			inside, below := strings.CutPrefix(dir, s.Dir+"/")
			if _, err := os.Stat(filepath.Join(root, "examples", "medallion", inside)); !below || err != nil {
				t.Errorf("%s reads %s, which is not in the example", name, dir)
			}
		}
	}
}

func TestComposeTakesTheFile(t *testing.T) {
	if out, err := exec.Command("docker", "compose", "version").CombinedOutput(); err != nil {
		t.Skipf("docker compose does not work here; only the other tests have checked the file: %s", strings.TrimSpace(string(out)))
	}
	ask := exec.Command("docker", "compose", "-f", filepath.Join(root, filepath.FromSlash(composeFile)), "config", "--quiet")
	ask.Env = append(os.Environ(), "POSTGRES_PASSWORD=a", "OPERATOR_TOKEN=b", "SENSOR_TOKEN=c")
	if out, err := ask.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
