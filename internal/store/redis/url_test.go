package redis

import (
	"crypto/tls"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestURLs(t *testing.T) {
	for url, want := range map[string]target{
		"redis://cache":                        {name: "redis://cache:6379/0", prefix: "interlock", addrs: []string{"cache:6379"}},
		"redis://[::1]:7000/3?prefix=blue":     {name: "redis://[::1]:7000/3", prefix: "blue", addrs: []string{"[::1]:7000"}, db: 3},
		"redis://:p%40ss@cache":                {name: "redis://cache:6379/0", prefix: "interlock", addrs: []string{"cache:6379"}, password: "p@ss"},
		"rediss://ann:secret@cache":            {name: "rediss://cache:6379/0", prefix: "interlock", addrs: []string{"cache:6379"}, user: "ann", password: "secret", tls: &tls.Config{ServerName: "cache", MinVersion: tls.VersionTLS12}},
		"redis://a?sentinel=main&addr=b:26380": {name: "redis://a:26379/0?sentinel=main", prefix: "interlock", addrs: []string{"a:26379", "b:26380"}, master: "main"},
		"redis://ann:secret@a?sentinel=main&sentinel_auth=true": {
			name: "redis://a:26379/0?sentinel=main", prefix: "interlock", addrs: []string{"a:26379"}, user: "ann", password: "secret", master: "main", sentinelAuth: true,
		},
	} {
		got, err := parseURL(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(target{}), cmpopts.IgnoreUnexported(tls.Config{})); diff != "" {
			t.Errorf("%s: want -, got +\n%s", url, diff)
		}
	}
}

func TestWrongURLsSayWhatIsWrongAndShowNoPassword(t *testing.T) {
	for url, want := range map[string]string{
		"redis://ann:se%zzcret@cache":                     "special characters of the password",
		"redis://ann:secret@cache:port":                   "not understood",
		"http://ann:secret@cache":                         `"http://"`,
		"redis://ann:secret@":                             "names no host",
		"redis://ann:secret@cache/first":                  `database "first"`,
		"redis://ann:secret@cache?prefx=a":                `parameter "prefx"`,
		"redis://ann:secret@cache?addr=b":                 "sentinel=NAME",
		"redis://ann:secret@cache?ca=/x":                  "rediss://",
		"rediss://ann:secret@cache?ca=/no/such/file":      "/no/such/file",
		"rediss://ann:secret@cache?cert=/no/such/file":    "go together",
		"rediss://ann:secret@cache?ca=/proc/self/cmdline": "PEM",
	} {
		_, err := parseURL(url)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "cret") {
			t.Errorf("%s: the error shows the password: %v", url, err)
		}
	}
}
