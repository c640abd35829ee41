package job

import (
	"strings"
	"testing"
)

func TestOnlySecretsThatAreAllowedAreRead(t *testing.T) {
	s, err := NewSecrets(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.From(map[SecretKind][]string{ManagedSecret: {"jobs/*"}, Parameter: {"/token"}}, func(kind SecretKind, name string) (string, error) {
		return string(kind) + " " + name, nil
	})
	for name, want := range map[string]string{
		"secret jobs/a#key": "secret jobs/a#key", "ssm /token": "ssm /token", "secret other": "", "ssm /token2": "",
	} {
		kind, of, _ := strings.Cut(name, " ")
		got, err := s.fromService(SecretKind(kind), of)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
