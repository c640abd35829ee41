//go:build unix

package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestThePythonPackagesWork runs the tests of integrations/ with the system's Python, against the
// built binary.
func TestThePythonPackagesWork(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary")
	}
	python, err := exec.LookPath("python3")
	if err != nil || exec.Command(python, "-c", "import sys; sys.exit(sys.version_info < (3, 9))").Run() != nil {
		t.Skip("no Python 3.9 or later") // make test reports this, and fails with CI=true
	}
	binary := builtBinary(t)
	t.Parallel()
	root, err := filepath.Abs("../../integrations")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"python", "airflow"} {
		isInput(t, filepath.Join(root, name))
		cmd := exec.Command(python, "-m", "unittest", "discover", "--start-directory", "tests")
		cmd.Dir = filepath.Join(root, name)
		cmd.Env = append(os.Environ(), "INTERLOCK_BINARY="+binary, "PYTHONDONTWRITEBYTECODE=1",
			"PYTHONPATH="+filepath.Join(root, "python", "src")+":"+filepath.Join(root, "airflow", "src"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// isInput reads all files of a directory. go test caches results unless a file has changed that the
// test itself has read; it does not see the reads of programs that the test starts.
func isInput(t *testing.T, directory string) {
	t.Helper()
	err := filepath.WalkDir(directory, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			_, err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
