//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/settings"
)

// TestHangupReloads changes the server's file while a controller runs. Reloadable settings change,
// a broken file changes nothing, and the controller keeps running.
func TestHangupReloads(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	const one, two = "first-token-0123456789", "second-token-0123456789"
	g := newGround(t, binary, "auth: {tokens: [{name: ops, role: admin, tokenFile: one}]}\n")
	g.write("one", one)
	g.write("two", two)
	g.token = one
	d := g.start()
	hangup := func() {
		if err := d.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	checks := func(token string) (string, error) {
		api, err := client.New(d.url, client.WithToken(token))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := api.Pipelines(t.Context(), client.Paging{}); err != nil {
			return "", err
		}
		ready, err := api.Ready(t.Context())
		var details []string
		for _, c := range ready.Checks {
			details = append(details, c.Name+": "+c.Detail)
		}
		return strings.Join(details, "\n"), err
	}
	write := func(token, more string) {
		g.write("interlock.yaml", "listen: 127.0.0.1:0\ndata: ./data\npipelines: [./pipelines]\nauth: {tokens: [{name: ops, role: admin, tokenFile: "+token+"}]}\n"+more)
	}

	write("two", "engine: {workers: 3}\n")
	hangup()
	until(t, "the second token", func() bool {
		_, err := checks(two)
		return err == nil
	})
	if _, err := checks(one); err == nil {
		t.Error("the first token is still accepted")
	}
	until(t, "the warning", func() bool {
		return strings.Contains(d.said(), "take effect after a restart") && strings.Contains(d.said(), "engine")
	})

	write("gone", "")
	hangup()
	until(t, "the failure to be shown", func() bool {
		shown, err := checks(two)
		return err == nil && strings.Contains(shown, "reload: the reload at ") && strings.Contains(shown, "gone")
	})

	write("two", "")
	hangup()
	until(t, "the reload", func() bool {
		shown, err := checks(two)
		return err == nil && !strings.Contains(shown, "reload:")
	})
	d.stop()
}

func TestChangesThatNeedARestartAreNamed(t *testing.T) {
	now := settings.Default()
	next, problems := settings.Parse("f", []byte("listen: 127.0.0.1:1\nengine: {workers: 3}\npipelines: ./other\nauth: {tokens: [{name: a, role: admin, tokenEnv: A}]}\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if diff := cmp.Diff([]string{"engine", "listen"}, needRestart(now, next)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	next.Auth.Sessions.Idle++
	if diff := cmp.Diff([]string{"auth", "engine", "listen"}, needRestart(now, next)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
