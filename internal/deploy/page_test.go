package deploy

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// shBlock matches a block of shell commands, also one in a list.
var shBlock = regexp.MustCompile("(?s)\n *```sh\n(.*?)\n *```\n")

// commandsOf returns the shell commands that a page prints, block by block.
func commandsOf(t testing.TB, page string) (blocks []string) {
	t.Helper()
	for _, found := range shBlock.FindAllStringSubmatch(read(t, page), -1) {
		blocks = append(blocks, found[1])
	}
	return blocks
}

// preamble makes up for what the emulated reader of docs/AWS.md lacks: a clone's make, version 2 of
// the AWS CLI, and an SQS that moves messages.
const preamble = `set -eu
export AWS_DEFAULT_REGION=eu-central-1 # version 1 of the AWS CLI does not read AWS_REGION
make() { :; }
aws() {
	[ "$1 $2" != "lambda invoke" ] || { [ "$3 $5 $7" = "--function-name --cli-binary-format --payload" ] && set -- lambda invoke "$3" "$4" "$7" "$8" "$9"; }
	[ "$1 $2" != "sqs start-message-move-task" ] || { moved "$4" "$6"; return; }
	command aws --endpoint-url "$AWS_ENDPOINT_URL" "$@"
}
moved() { # the emulated SQS has no such task
	for arn; do aws sqs get-queue-url --queue-name "${arn##*:}" >/dev/null; done
}
`

// before lists what happens just before a block of commands, by a word that the block contains.
var before = map[string]string{
	// A record of the stream that could not be handled.
	".control)": `
stream=$(aws dynamodb describe-table --table-name dev-interlock-control --query Table.LatestStreamArn --output text)
shard=$(aws dynamodbstreams describe-stream --stream-arn "$stream" --query 'StreamDescription.Shards[0]')
aws sqs send-message --queue-url "$(terraform output -json dead_letter_queue_urls | jq -r .control)" --message-body "$(printf %s "$shard" |
	jq -c --arg arn "$stream" '{DDBStreamBatchInfo: {streamArn: $arn, shardId: .ShardId, startSequenceNumber: .SequenceNumberRange.StartingSequenceNumber, batchSize: 1}}')"`,
	// An event that could not be stored.
	".alert)": `
aws sqs send-message --queue-url "$(terraform output -json dead_letter_queue_urls | jq -r .alert)" --message-body "$EVENT" \
	--message-attributes '{"ErrorMessage": {"DataType": "String", "StringValue": "throttled"}}'`,
	// Another release of a function.
	"make -C": `cp "$RELEASE" ../../dist/watchdog.zip`,
}

// A reader who copies each command of the page, from the first apply to the removal, never has to
// stop. The programs of three functions run.
func TestCommandsOfThePageAreAppliedInOrder(t *testing.T) {
	if !*applied {
		t.Skip("takes minutes; run it with -apply")
	}
	for _, program := range []string{"aws", "jq"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not on the PATH", program)
		}
	}
	c := newCheckout(t, newEmulated(t), "orchestrator", "event-sink")
	c.init("examples/aws")
	var script, deploy strings.Builder
	for _, block := range commandsOf(t, "docs/AWS.md") {
		to := &script
		if strings.Contains(block, "tar -xzf") {
			to = &deploy // instead of building
		}
		for word, does := range before {
			if strings.Contains(block, word) {
				fmt.Fprintln(to, does)
			}
		}
		fmt.Fprintln(to, block)
	}
	c.release("interlock-lambda_0.1.0_arm64.tar.gz")
	other := filepath.Join(t.TempDir(), "watchdog.zip")
	check(t, os.WriteFile(other, []byte("another release"), 0o600))
	event := strings.NewReplacer("SEVERITY", "warning", "<id>", "7bf73129-1428-4cd3-a780-95db273d1602", "<time>", "2026-03-03T04:00:00Z",
		"<alarm>", "dev-interlock-alert-dlq", "<state>", "ALARM").Replace(read(t, "deploy/terraform/alarm.json"))
	out, err := c.run(".", []string{
		"TF_CLI_ARGS_apply=-auto-approve -no-color", "TF_CLI_ARGS_destroy=-auto-approve -no-color", "TF_CLI_ARGS_import=-no-color",
		"PATH=" + filepath.Dir(binary(t)) + ":" + os.Getenv("PATH"), "RELEASE=" + other, "EVENT=" + event,
	}, "sh", "-c", preamble+"set -x\n"+deploy.String()+script.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(out, "Destroy complete!") {
		t.Errorf("nothing was removed at the end:\n%s", out)
	}
}

// release writes the functions of a release and their checksums into the clone, and removes those
// that were built.
func (c checkout) release(name string) {
	c.t.Helper()
	var archive bytes.Buffer
	gz := gzip.NewWriter(&archive)
	out := tar.NewWriter(gz)
	check(c.t, out.AddFS(os.DirFS(filepath.Join(c.dir, "dist"))))
	check(c.t, out.Close())
	check(c.t, gz.Close())
	check(c.t, os.RemoveAll(filepath.Join(c.dir, "dist")))
	check(c.t, os.WriteFile(filepath.Join(c.dir, name), archive.Bytes(), 0o600))
	sums := fmt.Sprintf("%x  %s\n%x  interlock_0.1.0_linux_arm64.tar.gz\n", sha256.Sum256(archive.Bytes()), name, sha256.Sum256(nil))
	check(c.t, os.WriteFile(filepath.Join(c.dir, "checksums.txt"), []byte(sums), 0o600))
}
