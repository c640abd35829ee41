package deploy

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var applied = flag.Bool("apply", false, "apply the Terraform module to an emulated AWS, which takes minutes")

// checkout is a folder with the module, the example and the built functions, as in a clone of the
// repository.
type checkout struct {
	t   testing.TB
	dir string
	aws *emulated
}

// newCheckout returns a clone after `make lambda`. Only the stream-router and the named functions
// have their programs: Terraform calls no other function.
func newCheckout(t testing.TB, aws *emulated, functions ...string) checkout {
	t.Helper()
	dir := t.TempDir()
	for _, from := range []string{"deploy/terraform", "examples/aws"} {
		check(t, os.CopyFS(filepath.Join(dir, from), os.DirFS(filepath.Join(root, from))))
	}
	check(t, os.CopyFS(filepath.Join(dir, "dist"), os.DirFS(filepath.Join(root, terraformDir, "tests", "zips"))))
	build := exec.Command("sh", append([]string{filepath.Join(root, "deploy", "build.sh"), filepath.Join(dir, "dist"), "stream-router"}, functions...)...)
	build.Env = append(os.Environ(), "ARCH="+architecture())
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	return checkout{t: t, dir: dir, aws: aws}
}

// terraform runs a command in a folder of the checkout, and returns its output.
func (c checkout) terraform(in string, args ...string) (string, error) {
	c.t.Helper()
	began := time.Now()
	out, err := c.run(in, nil, "terraform", append(args, "-no-color")...)
	c.t.Logf("terraform %s: %s", strings.Join(args, " "), time.Since(began).Round(time.Second))
	return out, err
}

// run runs a program in a folder of the checkout, as a user of the emulated AWS, and returns its
// output.
func (c checkout) run(in string, env []string, program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir = filepath.Join(c.dir, in)
	cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+c.aws.URL, "AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "AWS_REGION=eu-central-1",
		"AWS_EC2_METADATA_DISABLED=true", "CHECKPOINT_DISABLE=1", "TF_IN_AUTOMATION=1")
	cmd.Env = append(cmd.Env, env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if testing.Verbose() {
		both := io.MultiWriter(&out, os.Stdout)
		cmd.Stdout, cmd.Stderr = both, both
	}
	err := cmd.Run()
	return out.String(), err
}

// must runs a command that has to succeed.
func (c checkout) must(in string, args ...string) string {
	c.t.Helper()
	out, err := c.terraform(in, args...)
	if err != nil {
		c.t.Fatalf("terraform %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// init installs the providers, or skips the test if they cannot be had.
func (c checkout) init(in string) {
	c.t.Helper()
	if _, err := exec.LookPath("terraform"); err != nil {
		c.t.Skip("terraform is not installed")
	}
	if out, err := c.terraform(in, "init", "-input=false"); err != nil {
		c.t.Skipf("the AWS provider cannot be installed (TF_CLI_ARGS_init=-plugin-dir=DIR names a folder that has it): %v\n%s", err, out)
	}
}

// step runs one command in a folder, with the variables of an environment. It wants words in the
// output: of a failure if it begins with "Error:", else of a success.
func (c checkout) step(in, command string, words ...string) {
	c.t.Helper()
	out, err := c.terraform(in, strings.Fields(command)...)
	fails := len(words) > 0 && words[0] == "Error:"
	if (err != nil) != fails {
		c.t.Fatalf("terraform %s: %v\n%s", command, err, out)
	}
	for _, want := range words {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
			c.t.Errorf("terraform %s does not print %q:\n%s", command, want, out)
		}
	}
}

// Everything that docs/AWS.md says about applying and removing the example, with the real provider.
func TestExampleIsAppliedAndRemovedAsDocumented(t *testing.T) {
	if !*applied {
		t.Skip("takes minutes; run it with -apply")
	}
	c := newCheckout(t, newEmulated(t))
	const in, unchanged = "examples/aws", "0 added, 0 changed, 0 destroyed"
	c.init(in)
	const apply, destroy = "apply -auto-approve -var environment=dev -var alarm_email=you@example.com ", "destroy -auto-approve -var environment=dev -var alarm_email=you@example.com "
	c.step(in, apply, "dynamodb://dev?region=eu-central-1")
	c.step(in, apply, unchanged)

	// A file with an error changes nothing, and the plan shows it.
	file := filepath.Join(c.dir, in, "pipelines", "orders.yaml")
	text, err := os.ReadFile(file)
	check(t, err)
	check(t, os.WriteFile(file, bytes.Replace(text, []byte("owner:"), []byte("ownr:"), 1), 0o600))
	c.step(in, "plan -var environment=dev -var alarm_email=you@example.com", "Error:", `did you mean "owner"?`)
	check(t, os.WriteFile(file, text, 0o600))

	// The same environment in another region.
	c.step(in, apply+"-var region=eu-west-1 -state=west.tfstate", "dynamodb://dev?region=eu-west-1")

	before := c.must(in, "state", "list")
	c.step(in, destroy, "Error:", "set deletion_protection to false, apply, then destroy")
	if after := c.must(in, "state", "list"); after != before {
		t.Errorf("destroy under protection removed something; left:\n%s", after)
	}

	// What is left when only DynamoDB refuses can be applied again.
	c.must(in, "state", "rm", "module.interlock.terraform_data.deletion_protection")
	c.step(in, destroy, "Error:")
	c.step(in, apply)
	c.step(in, apply, unchanged)

	c.step(in, apply+"-var deletion_protection=false")
	c.step(in, destroy, "Destroy complete!")
	c.step(in, apply+"-var region=eu-west-1 -state=west.tfstate", unchanged)
}

// The configuration that docs/AWS.md prints, with a variable that a job may read.
func TestPrintedConfigurationIsApplied(t *testing.T) {
	if !*applied {
		t.Skip("takes minutes; run it with -apply")
	}
	c := newCheckout(t, newEmulated(t))
	_, text, _ := strings.Cut(read(t, "docs/AWS.md"), "```hcl\nmodule \"interlock\" {")
	text, _, _ = strings.Cut(text, "```")
	text = strings.Replace(text, "git::https://github.com/interlock-go/interlock.git//deploy/terraform", "../deploy/terraform", 1)
	own := filepath.Join(c.dir, "own")
	check(t, os.CopyFS(own, os.DirFS(filepath.Join(root, "examples", "aws"))))
	check(t, os.CopyFS(filepath.Join(own, "dist"), os.DirFS(filepath.Join(c.dir, "dist"))))
	check(t, os.WriteFile(filepath.Join(own, "main.tf"), []byte("module \"interlock\" {"+text), 0o600))
	c.init("own")
	c.step("own", "apply -auto-approve")
	c.step("own", "apply -auto-approve", "0 added, 0 changed, 0 destroyed")

	file := filepath.Join(own, "pipelines", "orders.yaml")
	was, err := os.ReadFile(file)
	check(t, err)
	job := "    headers: {Authorization: '${env:%s}'}\n    timeout: 90s"
	for name, words := range map[string][]string{"JOBS_TOKEN": nil, "OTHER_TOKEN": {"Error:", "add OTHER_TOKEN to job_environment"}} {
		check(t, os.WriteFile(file, bytes.Replace(was, []byte("    timeout: 90s"), fmt.Appendf(nil, job, name), 1), 0o600))
		c.step("own", "plan", words...)
	}
}
