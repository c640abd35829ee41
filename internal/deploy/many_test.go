package deploy

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var many = flag.Int("files", 2000, "how many pipeline files are planned at once")

// The log has the durations, and what the function that checks the files takes: docs/AWS.md names
// them.
func TestManyFilesAreAppliedAtOnce(t *testing.T) {
	if !*applied {
		t.Skip("takes minutes; run it with -apply")
	}
	c := newCheckout(t, newEmulated(t))
	const in, set = "examples/aws", " -var environment=dev -var alarm_email=you@example.com"
	c.init(in)
	c.step(in, "apply -auto-approve"+set)
	file := filepath.Join(c.dir, in, "pipelines", "orders.yaml")
	text, err := os.ReadFile(file)
	check(t, err)
	for i := range *many - 1 {
		one := strings.Replace(string(text), "id: orders", fmt.Sprintf("id: orders-%04d", i), 1)
		check(t, os.WriteFile(filepath.Join(filepath.Dir(file), fmt.Sprintf("orders-%04d.yaml", i)), []byte(one), 0o600))
	}
	c.step(in, "plan"+set, fmt.Sprintf("%d to add, 0 to change, 0 to destroy", *many-1))
	c.step(in, "apply -auto-approve"+set, fmt.Sprintf("%d added, 0 changed, 0 destroyed", *many-1))
	c.step(in, "plan"+set, "No changes.")

	check(t, os.WriteFile(file, []byte(strings.Replace(string(text), "owner:", "ownr:", 1)), 0o600))
	c.step(in, "plan"+set, "Error:", `did you mean "owner"?`)
}
