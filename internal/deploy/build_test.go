package deploy

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// architecture returns this machine's, as deploy/build.sh calls it: for another one every dependency
// would be compiled again.
func architecture() string {
	return map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
}

// zipped builds a function in a copy of the repository, and returns its zip file.
func zipped(t testing.TB, repository string) []byte {
	t.Helper()
	allIsInput(t)
	out := t.TempDir()
	build := exec.Command("sh", filepath.Join(repository, "deploy", "build.sh"), out, "event-sink")
	build.Dir = repository // and so it is in PWD
	build.Env = append(build.Environ(), "ARCH="+architecture())
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	data, err := os.ReadFile(filepath.Join(out, "event-sink.zip"))
	check(t, err)
	return data
}

func TestZipFilesAreTheSameWhereverTheyAreBuilt(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a function twice")
	}
	here, err := filepath.Abs(root)
	check(t, err)
	there := filepath.Join(t.TempDir(), "elsewhere")
	check(t, os.Symlink(here, there))
	first := zipped(t, here)
	if !bytes.Equal(first, zipped(t, there)) {
		t.Error("two builds of the same sources differ")
	}

	z, err := zip.NewReader(bytes.NewReader(first), int64(len(first)))
	check(t, err)
	if len(z.File) != 1 || z.File[0].Name != "bootstrap" || z.File[0].Mode() != 0o755 {
		t.Fatalf("it holds %+v", z.File[0].FileHeader)
	}
	file, err := z.File[0].Open()
	check(t, err)
	program, err := io.ReadAll(file)
	check(t, err)
	f, err := elf.NewFile(bytes.NewReader(program))
	check(t, err)
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]; f.Machine != want {
		t.Errorf("it is for %s, want %s", f.Machine, want)
	}
	if bytes.Contains(program, []byte(here)) {
		t.Errorf("it contains the path where it was built")
	}
}

// TestFunctionsAreBuiltForTheArchitectureThatTheModuleExpects compares the defaults of the script, of
// make and of the module.
func TestFunctionsAreBuiltForTheArchitectureThatTheModuleExpects(t *testing.T) {
	v, err := least(t).variable("architecture")
	check(t, err)
	for name, line := range map[string]string{
		filepath.Join("deploy", "build.sh"): "case ${ARCH:-" + v.AsString() + "} in\n",
		"Makefile":                          "\nARCH = " + v.AsString() + "\n",
	} {
		text, err := os.ReadFile(filepath.Join(root, name))
		check(t, err)
		if !strings.Contains(string(text), line) {
			t.Errorf("%s does not contain %q", name, line)
		}
	}
}
