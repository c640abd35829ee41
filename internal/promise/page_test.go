package promise_test

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// page is one of docs.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEveryTestThatThePageNamesExists(t *testing.T) {
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	tree := os.DirFS("../..")
	err := fs.WalkDir(tree, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(tree, path)
		for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
			tests[found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, least := range map[string]int{"GUARANTEES.md": 30, "RELIABILITY.md": 5, "SECURITY.md": 30} {
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(page(t, name), -1)
		if len(named) < least {
			t.Errorf("docs/%s names only %d tests", name, len(named))
		}
		for _, found := range named {
			if !tests[found[1]] {
				t.Errorf("docs/%s names %s, which does not exist", name, found[1])
			}
		}
	}
}

func TestEachSentenceAboutTheWorstNamesItsTest(t *testing.T) {
	_, section, _ := strings.Cut(page(t, "SECURITY.md"), "\n## What each can do at worst\n")
	section, _, _ = strings.Cut(section, "\n## ")
	sentences := strings.Split(section, "\n- ")[1:]
	for _, sentence := range sentences {
		if !strings.Contains(sentence, "`Test") {
			t.Errorf("docs/SECURITY.md names no test: %s", sentence)
		}
	}
	if len(sentences) < 20 {
		t.Errorf("docs/SECURITY.md says only %d things", len(sentences))
	}
}

func TestThePageNamesEveryPromise(t *testing.T) {
	text := page(t, "GUARANTEES.md")
	for _, name := range []string{
		"TestS1NoUnsafeStart", "TestS2AtMostOneStart", "TestS3BudgetsHold", "TestS4SilenceIsNeverSuccess", "TestS5ExcludedMeansDormant",
		"TestL1ReadyIsNotForgotten", "TestL2AbsenceIsBounded", "TestE1SameHistorySameDecisions",
	} {
		if heading := "\n### " + name[4:6] + ": "; !strings.Contains(text, heading) || !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/GUARANTEES.md does not say what %s shows", name)
		}
	}
}
