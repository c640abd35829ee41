package deploy

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
)

// zipped builds a function in a copy of the repository, and returns its zip file.
func zipped(t testing.TB, repository string) []byte {
	t.Helper()
	allIsInput(t)
	out := t.TempDir()
	build := exec.Command("sh", filepath.Join(repository, "deploy", "build.sh"), out, "event-sink")
	build.Dir = repository // and so it is in PWD
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
	if f.Machine != elf.EM_AARCH64 {
		t.Errorf("it is for %s", f.Machine)
	}
	if bytes.Contains(program, []byte(here)) {
		t.Errorf("it contains the path where it was built")
	}
}

// The functions and the check use the time limit of the actual executions.
func TestFilesAreCheckedByTheTimeLimitThatIsDeployed(t *testing.T) {
	m := parse(t, terraformDir, map[string]cty.Value{"sfn_timeout_seconds": cty.NumberIntVal(86400), "interlock_path": cty.StringVal("il")})
	v, err := m.eval(m.blocks["data.external.check"].Body.Attributes["program"].Expr, nil)
	check(t, err)
	got := texts(v)
	if want := []string{"il", "86400s", "command,http,airflow,databricks,external", "", "", ""}; len(got) != 8 || !slices.Equal(got[2:], want) {
		t.Errorf("it is called as %q", got)
	}
}

func TestFilesAreCheckedBeforeTheyAreDeployed(t *testing.T) {
	name := binary(t)
	script := filepath.Join(root, "deploy", "terraform", "check.sh")
	var warned string
	within := func(limit, path string) string {
		t.Helper()
		out, err := exec.Command("sh", script, name, limit, "http,glue", "JOBS_TOKEN", "arn:aws:secretsmanager:eu-west-1:1:secret:warehouse-??????", "arn:aws:ssm:eu-west-1:1:parameter/orders/*", path).Output()
		check(t, err)
		var answer map[string]string // Terraform accepts only strings
		check(t, json.Unmarshal(out, &answer))
		warned = answer["warnings"]
		return answer["problems"]
	}
	ask := func(path string) string { t.Helper(); return within("14400s", path) }
	if got := ask(filepath.Join(root, "examples", "aws")); got != "" {
		t.Errorf("the example has problems: %s", got)
	}
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	check(t, os.WriteFile(bad, []byte("pipeline: {id: \"a\\\\b\\tc\", ownr: me}\n"), 0o600))
	if got := ask(bad); !strings.Contains(got, `did you mean "owner"?`) || !strings.Contains(got, `a\\b`) {
		t.Errorf("got %q", got)
	}
	long := filepath.Join(t.TempDir(), "long.yaml")
	check(t, os.WriteFile(long, []byte("pipeline: {id: a, owner: me}\nschedule: {cron: 0 8 * * *, evaluation: {window: 20h}}\n"), 0o600))
	if got := ask(long); !strings.Contains(got, "sfn_timeout_seconds") {
		t.Errorf("the limits of the platform were not looked at: %q", got)
	}
	if got := within("86400s", long); got != "" {
		t.Errorf("a file that the functions would take is refused: %q", got)
	}
	for config, want := range map[string]string{
		"type: http, config: {url: 'https://a.example', callback: true}":                        "callback",
		"type: http, config: {url: 'https://a.example', headers: {Authorization: '${env:NO}'}}": "job_environment",
		"type: http, config: {url: 'https://a.example', timeout: 15m}":                          "14m",
		"type: lambda, config: {functionName: f}":                                               "enable_lambda_trigger",
		"type: http, config: {url: 'https://a.example', body: '${secret:other#key}'}":           "job_secret_arns",
		"type: http, config: {url: 'https://a.example', body: '${ssm:/other/token}'}":           "job_parameter_arns",
	} {
		file := filepath.Join(t.TempDir(), "job.yaml")
		check(t, os.WriteFile(file, []byte("pipeline: {id: a, owner: me}\nschedule: {cron: 0 8 * * *}\njob: {"+config+"}\n"), 0o600))
		if got := ask(file); !strings.Contains(got, want) {
			t.Errorf("%s: %q", config, got)
		}
	}
	slow := filepath.Join(t.TempDir(), "slow.yaml")
	check(t, os.WriteFile(slow, []byte("pipeline: {id: a, owner: me}\nschedule: {cron: 0 8 * * *}\njob: {type: http, pollInterval: 1s, config: {url: 'https://a.example', timeout: 5m}}\n"), 0o600))
	if got := ask(slow); got != "" || !strings.Contains(warned, "is raised to") {
		t.Errorf("the warning is not shown: %q, %q", got, warned)
	}
	if out, err := exec.Command("sh", script, "no-such-interlock", "14400s", "http", "", "", "", bad).CombinedOutput(); err == nil || !strings.Contains(string(out), "interlock_path") {
		t.Errorf("%v: %s", err, out)
	}
}
