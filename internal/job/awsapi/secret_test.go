package awsapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
)

// vault answers as Secrets Manager and Systems Manager do, and counts the requests.
func vault(t *testing.T) (*awsapi.Secrets, *int) {
	t.Helper()
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		body, _ := io.ReadAll(r.Body)
		target := r.Header.Get("X-Amz-Target")
		if !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=key/") {
			t.Errorf("not signed: %q", r.Header.Get("Authorization"))
		}
		switch {
		case target == "secretsmanager.GetSecretValue" && strings.Contains(string(body), `"jobs"`):
			fmt.Fprint(w, `{"SecretString": "{\"token\": \"sesame\", \"port\": 8080}"}`)
		case target == "AmazonSSM.GetParameter" && strings.Contains(string(body), `"WithDecryption":true`):
			fmt.Fprint(w, `{"Parameter": {"Value": "open"}}`)
		default:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type": "com.amazonaws.secretsmanager#ResourceNotFoundException", "Message": "sesame"}`)
		}
	}))
	t.Cleanup(server.Close)
	return awsapi.NewSecrets(cloud(t, map[string]string{
		"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-west-1", "AWS_ENDPOINT_URL": server.URL,
	})), &asked
}

func TestSecretsAreReadWhereTheyAreStored(t *testing.T) {
	s, asked := vault(t)
	for name, want := range map[string]string{"secret:jobs#token": "sesame", "secret:jobs#port": "8080", "ssm:/jobs/token": "open"} {
		kind, of, _ := strings.Cut(name, ":")
		if got, err := s.Read(job.SecretKind(kind), of); got != want || err != nil {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	before := *asked
	if _, err := s.Read(job.Parameter, "/jobs/token"); err != nil || *asked != before {
		t.Errorf("a cached value was read again: %v", err)
	}
}

func TestASecretThatCannotBeReadIsRefusedWithoutItsValue(t *testing.T) {
	s, _ := vault(t)
	for _, name := range []string{"jobs#absent", "unknown"} {
		_, err := s.Read(job.ManagedSecret, name)
		if err == nil || strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), "${secret:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
