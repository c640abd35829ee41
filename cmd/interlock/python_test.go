//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestThePythonPackagesWork runs the tests of integrations/ with the system's Python, against the built binary.
func TestThePythonPackagesWork(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	binary := builtBinary(t)
	t.Parallel()
	root, err := filepath.Abs("../../integrations")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"python", "airflow"} {
		cmd := exec.Command(python, "-m", "unittest", "discover", "--start-directory", "tests")
		cmd.Dir = filepath.Join(root, name)
		cmd.Env = append(os.Environ(), "INTERLOCK_BINARY="+binary, "PYTHONDONTWRITEBYTECODE=1",
			"PYTHONPATH="+filepath.Join(root, "python", "src")+":"+filepath.Join(root, "airflow", "src"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
