package main

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/egress"
)

func TestAHeartbeatThatTheGuardRefusesSaysSo(t *testing.T) {
	guard, err := egress.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	beat := heartbeat{url: "http://127.0.0.1:1/ping/secret-token", client: guard.Client(time.Minute)}
	err = beat.send(t.Context())
	if err == nil || !strings.Contains(err.Error(), "watchdog.heartbeatURL") || !strings.Contains(err.Error(), "egress.allow") || strings.Contains(err.Error(), "secret-token") {
		t.Errorf("got %v", err)
	}
}
