//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/client"
)

// attack runs a shell script as a command job of a controller, and returns its output.
func (d *daemon) attack(script string) string {
	d.Helper()
	d.pipeline("attack", "schedule: {trigger: {key: go, check: exists}}\n"+
		fmt.Sprintf("job: {type: command, config: {command: %q, shell: true}, pollInterval: 1s, maxRetries: 0, maxCodeRetries: 0}\n", script))
	until(d.T, "the pipeline is active", func() bool {
		_, err := d.api.Pipeline(d.Context(), "attack")
		return err == nil
	})
	d.put("attack", "go#2026-03-01", map[string]any{"n": 1})
	key, err := client.ParseRunKey("attack/stream/2026-03-01")
	if err != nil {
		d.Fatal(err)
	}
	var got client.RunDetail
	until(d.T, "the attack ends", func() bool {
		got, err = d.api.Run(d.Context(), key)
		return err == nil && len(got.Attempts) > 0 && got.Attempts[0].EndedAt != nil
	})
	if got.Attempts[0].Output == nil {
		d.Fatalf("the attack printed nothing: %+v", got)
	}
	return *got.Attempts[0].Output
}

// withTokens makes the controllers of a ground require a token, which they read from their
// environment.
func (g *ground) withTokens() {
	g.env = append(g.env, "OPS_TOKEN=open-sesame-0123456789abcdef")
	g.token = "open-sesame-0123456789abcdef"
}

const asksForTokens = "auth: {tokens: [{name: ops, role: admin, tokenEnv: OPS_TOKEN}]}\n"

// TestACommandCannotReadTheControllersSecrets runs a command that looks for the secrets of the
// controller that started it: in the environment, the memory and the open files of the controller
// and of the keeper, and in its own environment. It searches for the name of the secret variable;
// the secret's value is not in the script, so that the script does not find itself.
func TestACommandCannotReadTheControllersSecrets(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	const script = `
keeper=$PPID
server=$(cut -d' ' -f4 /proc/$keeper/stat)
for pid in $keeper $server; do
	grep -qa OPS_TOKEN=o /proc/$pid/environ 2>/dev/null && echo "environ of $pid holds the token"
	head -c 1 /proc/$pid/maps >/dev/null 2>&1 && echo "memory of $pid is open"
	ls /proc/$pid/fd >/dev/null 2>&1 && echo "files of $pid are open"
done
grep -qa OPS_TOKEN /proc/self/environ && echo "the command was given the token"
echo done`
	for _, as := range []string{"nobody", "the user who runs the tests"} {
		t.Run(as, func(t *testing.T) {
			g := newGround(t, binary, asksForTokens)
			g.withTokens()
			root := os.Geteuid() == 0
			if root && as == "nobody" {
				g.runAsNobody()
				root = false
			}
			for _, line := range strings.Split(strings.TrimSpace(g.start().attack(script)), "\n") {
				// Root may read the memory of all processes; see docs/SECURITY.md.
				if line != "done" && !(root && strings.HasSuffix(line, "open")) {
					t.Errorf("%s", line)
				}
			}
		})
	}
}

// TestACommandOfAnotherUserCannotReadTheDataDirectory runs commands as the user nobody, which
// requires root. Without root, the controller must refuse to start and say what it needs.
func TestACommandOfAnotherUserCannotReadTheDataDirectory(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	g := newGround(t, binary, "jobs: {user: nobody}\n")
	sockets := socketDir(t)
	newAuthority(t, "tests").write(g.dir, "server", loopback())
	if os.Geteuid() != 0 {
		g.refuses("jobs.user", "needs root")
		return
	}
	g.chmod(0o755, filepath.Dir(g.dir), g.dir, sockets)
	script := `
id -un
for file in data/callback.key data/interlock.db data/replica data/jobs data interlock.yaml server.key pipelines/attack.yaml; do
	cat $file >/dev/null 2>&1 && echo "$file can be read"
	echo x 2>/dev/null >> $file && echo "$file can be written"
	ln $file /tmp/interlock-link-$$ 2>/dev/null && echo "$file can be linked"
	mv -f $file /tmp/interlock-moved-$$ 2>/dev/null && echo "$file can be moved"
done
for file in callback.key interlock.db replica jobs; do
	ls data/$file >/dev/null 2>&1 && echo "$file can be seen"
done
ln -s /etc/passwd data/jobs/link 2>/dev/null && echo "a link can be put among the jobs"
ls /proc/$PPID/cwd/ >/dev/null 2>&1 && echo "the job's directory can be seen"
[ -w ` + sockets + `/s ] && echo "the socket can be opened"
grep '@.*interlock' /proc/net/unix
kill -0 $PPID 2>/dev/null && echo "the keeper can be signalled"
true`
	d := g.launch("--listen", "unix:"+sockets+"/s")
	if !d.ready() {
		t.Fatalf("the controller exited:\n%s", d.said())
	}
	if got := d.attack(script); got != "nobody\n" {
		t.Errorf("the command printed %q", got)
	}
	d.stop()
	if err := os.Chown(g.path("data"), -1, 65534); err != nil {
		t.Fatal(err)
	}
	g.chmod(0o770, g.path("data")) // the files are closed, but a user who can write the directory can replace them
	g.refuses("jobs.user: nobody can change", "data", "chmod go-w")
	g.chmod(0o755, g.path("data"))
	g.chmod(0o644, g.path("data/callback.key"))
	g.refuses("jobs.user: nobody can read", "callback.key", "chmod go-rwx")
}

func TestCommandsThatAreTurnedOffAreRejected(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	g := newGround(t, binary, "")
	g.pipeline("orders", prompt)
	g.start().stop()
	g.write("interlock.yaml", "listen: 127.0.0.1:0\ndata: ./data\npipelines: [./pipelines]\njobs: {command: off}\n")
	d := g.start()
	if n := d.told("CONFIG_REJECTED", "orders"); n != 1 {
		t.Errorf("%d files were rejected:\n%s", n, d.said())
	}
	d.put("orders", "landed#2026-03-01", map[string]any{"n": 1})
	got := d.reaches("orders/stream/2026-03-01", client.FailedFinal)
	if got.Message == nil || !strings.Contains(*got.Message, "jobs: {command: on}") {
		t.Errorf("the run ended as %+v", got.Run)
	}
}

// TestARefusedHeartbeatIsReported sends the heartbeat to an address that the egress guard rejects.
func TestARefusedHeartbeatIsReported(t *testing.T) {
	binary := builtBinary(t)
	t.Parallel()
	g := newGround(t, binary, "watchdog: {interval: 1s, heartbeatURL: 'http://127.0.0.1:9/ping/secret-part'}\n")
	d := g.start()
	shown := ""
	until(t, "the refusal in /readyz", func() bool {
		ready, err := d.api.Ready(t.Context())
		for _, c := range ready.Checks {
			shown += c.Detail
		}
		return err == nil && strings.Contains(shown, "watchdog.heartbeatURL: refused to connect to 127.0.0.1") && strings.Contains(shown, "egress.allow")
	})
	until(t, "the refusal in the log", func() bool { return strings.Contains(d.said(), "watchdog.heartbeatURL: refused to connect") })
	if strings.Contains(shown+d.said(), "secret-part") {
		t.Errorf("the full address is shown:\n%s\n%s", shown, d.said())
	}
}
