package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestNoOpenRunsIsANumber(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"shelf.yaml": shelfFile}})
	resp, err := http.Get(s.address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	shown, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(shown), `interlock_open_runs{status="RUNNING"} 0`) {
		t.Errorf("%v:\n%s", err, shown)
	}
}
