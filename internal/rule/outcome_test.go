package rule_test

import (
	"testing"

	"github.com/interlock-go/interlock/internal/rule"
)

func TestStoredOutcomeIsReadBack(t *testing.T) {
	for _, want := range []rule.Outcome{rule.Fail, rule.Unknown, rule.Pass} {
		text, err := want.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var got rule.Outcome
		if err := got.UnmarshalText(text); err != nil || got != want {
			t.Errorf("%s was read back as %s, error %v", text, got, err)
		}
	}
	var got rule.Outcome
	if err := got.UnmarshalText([]byte("maybe")); err == nil {
		t.Errorf("maybe was read as %s", got)
	}
}
