package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestMetricsNameOnlyPipelinesThatTheTokenSees reads the metrics of each pipeline with a token that is
// limited to some of them.
func TestMetricsNameOnlyPipelinesThatTheTokenSees(t *testing.T) {
	s := serve(t, site{
		pipelines: map[string]string{"a.yaml": "pipeline: {id: silver-a, owner: x}\n", "b.yaml": "pipeline: {id: gold-b, owner: x}\n"},
		env:       map[string]string{"ALL": "all-0123456789abcdef", "SOME": "some-0123456789abcdef"},
		config: "metrics: {perPipeline: true}\nauth:\n  tokens:\n    - {name: all, role: viewer, tokenEnv: ALL}\n" +
			"    - {name: some, role: viewer, tokenEnv: SOME, pipelines: ['silver-*']}\n",
	})
	scrape := func(token string) string {
		r, err := http.NewRequest("GET", s.address+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := scrape("all-0123456789abcdef"); !in(got, `deadline_state{pipeline="gold-b"}`, `deadline_state{pipeline="silver-a"}`) {
		t.Errorf("the metrics of all pipelines are incomplete:\n%s", got)
	}
	if got := scrape("some-0123456789abcdef"); strings.Contains(got, "gold-b") || !in(got, `deadline_state{pipeline="silver-a"}`, "interlock_http_requests_total") {
		t.Errorf("the metrics for silver-* are wrong:\n%s", got)
	}
}
