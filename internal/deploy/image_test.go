package deploy

import (
	"debug/elf"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// stage is one stage of the Dockerfile.
type stage struct {
	image        string
	instructions [][2]string // such as RUN, and its arguments
}

// stages reads the Dockerfile.
func stages(t testing.TB) []stage {
	t.Helper()
	var all []stage
	text := strings.ReplaceAll(read(t, "deploy/Dockerfile"), "\\\n", "")
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "" || strings.HasPrefix(word, "#"):
		case word == "FROM":
			all = append(all, stage{image: strings.Fields(rest)[0]})
		default:
			last := &all[len(all)-1]
			last.instructions = append(last.instructions, [2]string{word, rest})
		}
	}
	return all
}

// arguments returns the arguments of each use of an instruction.
func (s stage) arguments(word string) []string {
	var found []string
	for _, i := range s.instructions {
		if i[0] == word {
			found = append(found, i[1])
		}
	}
	return found
}

// words returns the words of a command in JSON form.
func words(t testing.TB, list string) []string {
	t.Helper()
	var all []string
	if err := json.Unmarshal([]byte(list), &all); err != nil {
		t.Fatalf("%s is not a JSON list of strings: %v", list, err)
	}
	return all
}

var built struct {
	sync.Once
	dir, err string
}

// binary builds the binary with the commands of the Dockerfile's build stage.
func binary(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the binary")
	}
	allIsInput(t)
	built.Do(func() {
		built.dir = scratch
		for _, command := range stages(t)[0].arguments("RUN") {
			if command == "go mod download" {
				continue // the dependencies are there, and tests do not use the network
			}
			cmd := exec.Command("sh", "-c", strings.ReplaceAll(command, "/out/", scratch+"/"))
			cmd.Dir = root
			cmd.Env = append(cmd.Environ(), "VERSION=v9.8.7")
			if out, err := cmd.CombinedOutput(); err != nil {
				built.err = command + ": " + err.Error() + ": " + string(out)
				return
			}
		}
	})
	if built.err != "" {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "interlock")
}

func TestBuildStageMakesAStaticBinary(t *testing.T) {
	name := binary(t)
	out, err := exec.Command(name, "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "v9.8.7") {
		t.Errorf("%v: %s", err, out)
	}
	f, err := elf.Open(name)
	if err != nil {
		t.Skip("this system cannot run the image's programs")
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the binary needs a loader")
		}
	}
}

func TestImageRunsAsAnUnprivilegedUser(t *testing.T) {
	all := stages(t)
	last := all[len(all)-1]
	user := last.arguments("USER")
	if len(user) != 1 || user[0] == "0" || user[0] == "root" {
		t.Fatalf("the user is %v", user)
	}
	if made := strings.Join(last.arguments("RUN"), "\n"); !strings.Contains(made, "--uid "+user[0]+" ") {
		t.Errorf("no RUN creates user %s: %s", user[0], made)
	}
	if len(last.arguments("HEALTHCHECK")) != 1 {
		t.Error("no health check")
	}
}

// commandLines returns the command lines of the binary in the files, by location.
func commandLines(t testing.TB) map[string][]string {
	t.Helper()
	all := stages(t)
	last := all[len(all)-1]
	_, health, _ := strings.Cut(last.arguments("HEALTHCHECK")[0], "CMD ")
	lines := map[string][]string{
		"Dockerfile CMD":         words(t, last.arguments("CMD")[0]),
		"Dockerfile HEALTHCHECK": words(t, health)[1:],
		"systemd ExecStart":      strings.Fields(unit(t)["ExecStart"])[1:],
	}
	for name, s := range compose(t).controllers() {
		lines["compose "+name] = s.HealthCheck.Test[2:]
	}
	for _, c := range pods(t) {
		lines["kubernetes "+c.Name] = c.Args
	}
	return lines
}

func TestCommandsAndFlagsExist(t *testing.T) {
	name := binary(t)
	for where, line := range commandLines(t) {
		out, err := exec.Command(name, append(line, "--help")...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "interlock "+line[0]) {
			t.Errorf("%s: %v: %v: %s", where, line, err, out)
		}
	}
}
