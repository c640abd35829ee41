package wire

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAFailedHeartbeatIsAnErrorWithoutItsURL(t *testing.T) {
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	if err := beat(t.Context(), server.Client(), server.URL+"/token"); err != nil {
		t.Error(err)
	}
	status = http.StatusNotFound
	if err := beat(t.Context(), server.Client(), server.URL+"/token"); err == nil || strings.Contains(err.Error(), "token") {
		t.Errorf("got %v", err)
	}
}
