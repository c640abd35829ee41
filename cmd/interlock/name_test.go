package main

import (
	"strings"
	"testing"

	"github.com/interlock-go/interlock/client"
)

func TestARunIsNamedByItsIDOrByPipelineAndPeriod(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile}})
	s.must(0, "sensor", "set", "orders", "landed#2026-03-03", "complete=true", "count=1000")
	s.reaches("orders/stream/2026-03-03", client.Completed)
	for _, command := range []string{"explain", "logs", "run show"} {
		words := strings.Fields(command)
		byID := s.must(0, append(words, "orders/stream/2026-03-03")...).stdout
		byAttempt := s.must(0, append(words, "orders/stream/2026-03-03/1")...).stdout
		byPeriod := s.must(0, append(words, "orders", "--date", "2026-03-03")...).stdout
		if momentless(byID) != momentless(byPeriod) || momentless(byID) != momentless(byAttempt) || !in(byID, "2026-03-03") {
			t.Errorf("%s: by id\n%s\nby attempt\n%s\nby period\n%s", command, byID, byAttempt, byPeriod)
		}
	}
	if got := s.must(0, "explain", "orders", "--schedule", "manual", "--date", "2026-03-03").stdout; !in(got, "orders/manual/2026-03-03") {
		t.Errorf("explain of another schedule:\n%s", got)
	}
	if got := s.must(0, "rerun", "orders/stream/2026-03-03", "--reason", "again", "--force").stdout; got != "orders/stream/2026-03-03: accepted as attempt 2\n" {
		t.Errorf("got %s", got)
	}
	s.until("attempt 2 completes", func() bool { return s.reaches("orders/stream/2026-03-03", client.Completed).Attempt == 2 })
	if got := s.must(1, "cancel", "orders/stream/2026-03-03", "--reason", "x").stderr; !in(got, "COMPLETED") {
		t.Errorf("got %s", got)
	}
	for _, command := range []string{"explain", "rerun", "cancel", "logs"} {
		args := []string{command, "orders/stream/2026-03-03", "--date", "2026-03-03"}
		if command == "rerun" {
			args = append(args, "--reason", "x")
		}
		if got := s.must(2, args...).stderr; !in(got, "already contains schedule and date") {
			t.Errorf("%s: %s", command, got)
		}
	}
}

func TestAMisspeltNameGetsTheRightOne(t *testing.T) {
	s := serve(t, site{
		pipelines: map[string]string{"orders.yaml": ordersFile},
		config:    "egress: {allow: [127.0.0.1]}\nalerts: {webhooks: [{name: hook, url: 'http://127.0.0.1:1/'}]}\n",
	})
	s.must(0, "sensor", "set", "orders", "landed#2026-03-03", "complete=true", "count=1000")
	s.reaches("orders/stream/2026-03-03", client.Completed)
	s.env["INTERLOCK_CONTEXTS"] = t.TempDir() + "/contexts.yaml"
	s.must(0, "context", "add", "staging", "--server", s.address)
	if got := s.must(1, "audit", "--pipeline", "ordres").stderr; !in(got, `did you mean "orders"?`) {
		t.Errorf("audit: %s", got) // before others leave entries about that name
	}
	for line, want := range map[string]string{
		"status ordres":                                     "orders",
		"explain ordres":                                    "orders",
		"explain ordres/stream/2026-03-03":                  "orders",
		"explain orders/strem/2026-03-03":                   "stream",
		"run show orders/strem/2026-03-03":                  "stream",
		"run show ordres/stream/2026-03-03":                 "orders",
		"run show orders/manual/2026-03-03":                 "orders/stream/2026-03-03",
		"logs ordres/stream/2026-03-03":                     "orders",
		"logs ordres/stream/2026-03-03 --follow":            "orders",
		"logs ordres --date 2026-03-03":                     "orders",
		"cancel ordres/stream/2026-03-03":                   "orders",
		"cancel orders/manual/2026-03-03":                   "orders/stream/2026-03-03",
		"rerun ordres/stream/2026-03-03 --reason x":         "orders",
		"rerun ordres --date 2026-03-03 --reason x":         "orders",
		"trigger ordres":                                    "orders",
		"backfill ordres --from 2026-03-01 --to 2026-03-02": "orders",
		"pause ordres":                                      "orders",
		"resume ordres":                                     "orders",
		"gate ordres":                                       "orders",
		"runs --pipeline ordres":                            "orders",
		"runs --status COMPLETE":                            "COMPLETED",
		"events --pipeline ordres":                          "orders",
		"events --pipeline ordres --follow":                 "orders",
		"events --type SLA_BREECH":                          "SLA_BREACH",
		"deadlines --pipeline ordres":                       "orders",
		"deadlines --state ARMD":                            "ARMED",
		"attention --pipeline ordres":                       "orders",
		"sensor set ordres landed a=1":                      "orders",
		"sensor get ordres":                                 "orders",
		"sensor get orders lnaded":                          "landed",
		"sensor history orders lnaded":                      "landed",
		"sensor delete orders lnaded":                       "landed",
		"alerts test defualt":                               "default",
		"alerts dead --sink hok":                            "hook",
		"alerts retry --all --sink hok":                     "hook",
		"alerts discard --all --sink hok":                   "hook",
		"job complete ordres/stream/2026-03-03 success":     "orders",
		"expalin orders":                                    "explain",
		"help sensro":                                       "sensor",
		"sensor gte orders":                                 "get",
		"run shwo orders":                                   "show",
		"context use stagin":                                "staging",
		"completion bsh":                                    "bash",
		"schema pipelin":                                    "pipeline",
		"status --format jsno":                              "json",
		"status --formt json":                               "--format",
	} {
		got := s.run(strings.Fields(line)...)
		if got.code == 0 || !in(got.stderr, "did you mean", want+`"?`) && !in(got.stderr, "did you mean "+want+"?") {
			t.Errorf("interlock %s: exit code %d: %s", line, got.code, got.stderr)
		}
	}
	for _, line := range []string{"sensor set orders lnaded a=1", "silence add --pipeline ordres --for 1h --reason x"} {
		if got := s.must(0, strings.Fields(line)...); !in(got.stderr, "warning", "did you mean") || got.stdout == "" {
			t.Errorf("interlock %s: %+v", line, got)
		}
	}
	if got := s.must(0, "sensor", "set", "orders", "landed", "a=1"); got.stderr != "" {
		t.Errorf("got %s", got.stderr)
	}
}

func TestAPauseOfEverythingNeedsAReason(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": ordersFile}})
	for _, args := range [][]string{{}, {"--reason", " "}} {
		if got := s.must(2, append([]string{"pause", "--all"}, args...)...); !in(got.stderr, "--reason") {
			t.Errorf("got %+v", got)
		}
	}
	if got := s.must(0, "status", "orders").stdout; in(got, "paused") {
		t.Errorf("it is paused:\n%s", got)
	}
	s.must(0, "pause", "--all", "--reason", "migration")
	if got := s.must(0, "status", "orders").stdout; !in(got, "paused by ann", "migration") {
		t.Errorf("got\n%s", got)
	}
}
