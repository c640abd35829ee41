package dynamo_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/store/dynamo"
)

func TestURLNamesTheEnvironment(t *testing.T) {
	for url, want := range map[string][3]string{
		"dynamodb://prod":                                         {"prod", "", ""},
		"dynamodb://prod?region=eu-west-1":                        {"prod", "eu-west-1", ""},
		"dynamodb://a-b_c.d/?endpoint=http%3A%2F%2F127.0.0.1%3A8": {"a-b_c.d", "", "http://127.0.0.1:8"},
	} {
		environment, region, endpoint, err := dynamo.ParseURL(url)
		if err != nil || [3]string{environment, region, endpoint} != want {
			t.Errorf("%s: %s, %s, %s, error %v; want %v", url, environment, region, endpoint, err, want)
		}
	}
}

func TestInvalidURLIsRejectedWithTheRemedy(t *testing.T) {
	for url, want := range map[string]string{
		"redis://prod":                  "want dynamodb://ENVIRONMENT",
		"dynamodb://":                   "names no environment",
		"dynamodb://prod/table":         "names no environment",
		"dynamodb://pr%20od":            "want dynamodb://ENVIRONMENT",
		"dynamodb://key:secret@prod":    "credentials come from the environment",
		"dynamodb://prod?reigon=there":  "want one of region, endpoint",
		"dynamodb://prod?endpoint=8000": "want one like http://127.0.0.1:8000",
	} {
		_, _, _, err := dynamo.ParseURL(url)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: error %v, want %q", url, err, want)
		}
	}
}

func TestTablesWithoutARegionAreNotOpened(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", "none")
	if _, err := dynamo.Open(t.Context(), "dynamodb://prod", dynamo.Options{}); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("error %v, want it to name AWS_REGION", err)
	}
}

// Whatever prevents access to the tables, the error says what to check.
func TestUnreachableTablesAreDistinguishedFromMisuse(t *testing.T) {
	nowhere := httptest.NewServer(http.NotFoundHandler())
	nowhere.Close()
	for name, c := range map[string]struct{ key, want string }{
		"nobody is asking": {"", "AWS_PROFILE"},
		"nobody answers":   {"id", "check the region and the network"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, variable := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
				t.Setenv(variable, c.key)
			}
			for _, variable := range []string{"AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
				t.Setenv(variable, "none")
			}
			_, err := dynamo.Open(t.Context(), "dynamodb://prod?region=eu-west-1&endpoint="+nowhere.URL, dynamo.Options{})
			if _, is := errors.AsType[*dynamo.UnreachableError](err); !is || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "prod") {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}
