package awscall_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/awslambda/awscall"
	"github.com/interlock-go/interlock/internal/job/awstest"
)

const arn = "arn:aws:secretsmanager:eu-west-1:123456789012:secret:slack"

func token(t *testing.T, kept string) (string, error) {
	t.Helper()
	server := awstest.NewServer(t, awstest.Operations{"secretsmanager.GetSecretValue": func(w http.ResponseWriter, r *http.Request) {
		if in := awstest.Read[struct{ SecretId string }](t, r); in.SecretId != arn {
			t.Errorf("asked for %q", in.SecretId)
		}
		awstest.Reply(w, map[string]string{"SecretString": kept})
	}})
	env := map[string]string{"AWS_REGION": awstest.Region, "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key", "AWS_ENDPOINT_URL": server.URL}
	return awscall.Token(t.Context(), awscall.Config(func(name string) string { return env[name] }), arn)
}

func TestTokenIsTheTextOrItsField(t *testing.T) {
	for kept, want := range map[string]string{"xoxb-1\n": "xoxb-1", `{"token": "xoxb-2"}`: "xoxb-2"} {
		if got, err := token(t, kept); got != want || err != nil {
			t.Errorf("%q: %q, %v", kept, got, err)
		}
	}
}

func TestSecretWithoutATokenSaysSoAndShowsNothing(t *testing.T) {
	for _, kept := range []string{"", `{"password": "hunter2"}`, `{"token": "hunter2`} {
		if got, err := token(t, kept); err == nil || got != "" || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), arn) {
			t.Errorf("%q: %q, %v", kept, got, err)
		}
	}
}
