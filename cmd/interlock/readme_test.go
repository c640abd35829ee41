//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/client"
)

// newcomersPages are the pages with commands that a new user types, and the directory in which each
// expects its reader. A page of an example starts in the project, with interlock on the PATH.
var newcomersPages = []struct{ page, dir string }{
	{"README.md", "."},
	{"docs/TUTORIAL.md", "."},
	{"examples/README.md", "."},
	{"examples/starter/README.md", "examples/starter"},
	{"examples/probes/README.md", "examples/probes"},
	{"examples/lakehouse/README.md", "examples/lakehouse"},
}

// TestTheFirstHourIsAsItsPagesSay types the commands of those pages into shells, one after the other
// and without pauses, in a fresh copy of the repository's files, and compares what they print with
// the samples. The rules:
//
//   - An sh block is typed as it is. In a console block, lines after "$ " are typed, and the others
//     are the sample of the command above them.
//   - A command without a sample must succeed.
//   - `interlock serve` listens on any free port, which then replaces 8740 in commands and samples.
//     It keeps its terminal; the reader opens the next one in the page's directory.
//   - A command with --follow or --watch and a sample is ended with Ctrl-C once it has printed that.
//   - In samples "…" is the rest of a line and, on a line of its own, any lines. Instants, hashes and
//     days on which the command was run are replaced on both sides.
//   - The reader types the next command once the server has handled what the last one changed.
//   - bin/interlock is there, so `make build` has nothing left to do, and `make demo` only runs it.
//     `make test` is not typed: this test is part of it.
func TestTheFirstHourIsAsItsPagesSay(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the binary and types whole pages")
	}
	clone := freshCopy(t)
	if err := os.Mkdir(filepath.Join(clone, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(builtBinary(t), filepath.Join(clone, "bin", "interlock")); err != nil {
		t.Fatal(err)
	}
	for _, p := range newcomersPages {
		t.Run(p.page, func(t *testing.T) {
			r := &reader{T: t, clone: clone, dir: filepath.Join(clone, p.dir)}
			if p.dir != "." {
				r.path = filepath.Join(clone, "bin")
			}
			defer r.leave()
			typed := readPage(t, filepath.Join(clone, p.page))
			for _, c := range typed {
				r.type1(c)
			}
			if len(typed) < 3 {
				t.Errorf("found only %d commands", len(typed))
			}
		})
	}
}

// freshCopy copies the files that belong to the repository, as a clone has them.
func freshCopy(t *testing.T) string {
	t.Helper()
	root, dir := "../..", filepath.Join(t.TempDir(), "interlock")
	list, err := exec.Command("git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("list the files of the repository: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list), "\x00"), "\x00") {
		from, to := filepath.Join(root, name), filepath.Join(dir, name)
		info, err := os.Stat(from)
		if err != nil || info.IsDir() {
			continue // deleted, and not committed yet
		}
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o755)
		}
		if err == nil {
			err = os.WriteFile(to, text, info.Mode().Perm())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// typedCommand is a command of a page, and the sample of its output.
type typedCommand struct {
	line, sample string
	sampled      bool
}

var typedBlock = regexp.MustCompile("(?ms)^```(sh|console)\n(.*?)^```$")

// readPage returns the commands of a page in order.
func readPage(t *testing.T, page string) (all []typedCommand) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range typedBlock.FindAllStringSubmatch(string(text), -1) {
		lines := strings.SplitAfter(block[2], "\n")
		if block[1] == "sh" {
			for _, line := range shellCommands(block[2]) {
				all = append(all, typedCommand{line: line})
			}
			continue
		}
		for _, line := range lines {
			command, typed := strings.CutPrefix(line, "$ ")
			switch {
			case typed:
				all = append(all, typedCommand{line: strings.TrimSpace(command)})
			case line != "" && len(all) > 0:
				last := &all[len(all)-1]
				last.sample, last.sampled = last.sample+line, true
			}
		}
	}
	for _, c := range all {
		if strings.Contains(c.line, " # ") {
			t.Errorf("%q: not every shell accepts comments that are typed", c.line)
		}
	}
	return all
}

var heredoc = regexp.MustCompile(`<<'(\w+)'`)

// shellCommands splits a block into commands: lines, with their here-documents and continuations.
func shellCommands(block string) (all []string) {
	end, open := "", false
	for line := range strings.SplitSeq(strings.TrimRight(block, "\n"), "\n") {
		if open {
			all[len(all)-1] += "\n" + line
		} else if line != "" {
			all = append(all, line)
		}
		switch found := heredoc.FindStringSubmatch(line); {
		case end != "":
			open = line != end
			if !open {
				end = ""
			}
		case found != nil:
			end, open = found[1], true
		default:
			open = strings.HasSuffix(line, `\`)
		}
	}
	return all
}

// reader is the person who reads a page.
type reader struct {
	*testing.T
	clone, dir string
	path       string // put before PATH, if set
	address    string // of the server that the page started
	servers    []*terminal
	at         *terminal
}

// usualAddress matches the server's address as pages write it.
var usualAddress = regexp.MustCompile(`(http://)?(127\.0\.0\.1|localhost):8740`)

// type1 types one command and compares its output.
func (r *reader) type1(c typedCommand) {
	r.Helper()
	switch c.line {
	case "make test", "make build":
		return
	case "make demo":
		c.line = "bin/interlock demo --speed 20 --listen 127.0.0.1:0"
	}
	if r.at == nil {
		r.at = r.open()
	}
	r.settle()
	line := c.line
	if r.address != "" {
		line = usualAddress.ReplaceAllString(line, r.address)
	}
	serves := c.line == "interlock serve"
	if serves {
		line += " --listen 127.0.0.1:0"
	}
	from := r.at.enter(line)
	printed := func() string { text, _, _ := strings.Cut(r.at.said()[from:], finishedMark); return text }
	switch {
	case serves:
		var found []string
		until(r.T, "the server listens", func() bool {
			found = regexp.MustCompile(`(?m)^interlock listens on (\S+) .*\n(.*\n)?dashboard: `).FindStringSubmatch(printed())
			return found != nil || r.at.ended(from)
		})
		if found == nil {
			r.Fatalf("the server ended:\n%s", printed())
		}
		r.address = found[1]
		until(r.T, "what the server prints", func() bool { return !c.sampled || r.matches(c, printed()) || r.at.ended(from) })
	case c.sampled && (in(c.line, "--follow") || in(c.line, "--watch")):
		until(r.T, c.line, func() bool { return r.matches(c, printed()) || r.at.ended(from) })
		r.at.interrupt()
		until(r.T, "the end of "+c.line, func() bool { return r.at.ended(from) })
	default:
		until(r.T, "the end of "+c.line, func() bool { return r.at.ended(from) })
		if !c.sampled && r.at.code(from) != "0" {
			r.Fatalf("$ %s\nexit code %s:\n%s", c.line, r.at.code(from), printed())
		}
	}
	if c.sampled && !r.matches(c, printed()) {
		r.Errorf("$ %s (-page +printed):\n%s", c.line, cmp.Diff(r.plain(c.sample, printed()), r.plain(printed(), printed())))
	}
	if serves {
		r.servers, r.at = append(r.servers, r.at), nil
	}
}

// settle waits until the server, if there is one, has handled all changes.
func (r *reader) settle() {
	r.Helper()
	if r.address == "" {
		return
	}
	c, err := client.New(r.address)
	if err != nil {
		r.Fatal(err)
	}
	until(r.T, "the server has handled all changes", func() bool {
		state, err := c.Ready(r.Context())
		return err == nil && slices.ContainsFunc(state.Checks, func(c client.HealthCheck) bool {
			return c.Name == "feed" && strings.HasPrefix(c.Detail, "0 changes")
		})
	})
}

// matches reports whether a command has printed its sample.
func (r *reader) matches(c typedCommand, printed string) bool {
	pattern := regexp.QuoteMeta(r.plain(c.sample, printed))
	pattern = strings.ReplaceAll(pattern, "\n…\n", "\n(.*\n)*")
	pattern = strings.ReplaceAll(strings.TrimPrefix(pattern, "…\n"), "…", "[^\n]*")
	if strings.HasPrefix(c.sample, "…\n") {
		pattern = "(.*\n)*" + pattern
	}
	return regexp.MustCompile(`^` + pattern + `$`).MatchString(r.plain(printed, printed))
}

var (
	aDay       = regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`)
	manySpaces = regexp.MustCompile(` {2,}`)
)

// plain replaces what differs from run to run: instants, hashes, the server's address, the copy's
// directory, the days around today, and in a sample the days that are not printed.
func (r *reader) plain(text, printed string) string {
	now := time.Now().UTC()
	var near []string
	for days := range 5 {
		near = append(near, now.AddDate(0, 0, days-2).Format(time.DateOnly))
	}
	text = strings.ReplaceAll(momentless(text), " (MOMENT)", "")
	text = aDay.ReplaceAllStringFunc(text, func(day string) string {
		if slices.Contains(near, day) || !strings.Contains(printed, day) {
			return "DAY"
		}
		return day
	})
	if r.address != "" {
		text = strings.ReplaceAll(text, r.address, "ADDRESS")
	}
	text = strings.ReplaceAll(usualAddress.ReplaceAllString(text, "ADDRESS"), r.clone, "CLONE")
	return manySpaces.ReplaceAllString(text, "  ")
}

// open opens a terminal in the page's directory.
func (r *reader) open() *terminal {
	r.Helper()
	w := &terminal{T: r.T}
	w.cmd = exec.Command("sh")
	w.cmd.Dir, w.cmd.SysProcAttr = r.dir, &syscall.SysProcAttr{Setpgid: true}
	path := os.Getenv("PATH")
	if r.path != "" {
		path = r.path + ":" + path
	}
	w.cmd.Env = append(os.Environ(), "PATH="+path, "INTERLOCK_SERVER="+r.address, "USER=ann")
	w.cmd.Stdout, w.cmd.Stderr = w, w
	in, err := w.cmd.StdinPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		r.Fatal(err)
	}
	w.in = func(text string) {
		if _, err := in.Write([]byte(text)); err != nil {
			r.Fatal(err)
		}
	}
	w.in("trap : INT\n") // Ctrl-C ends the command, not the shell
	r.Cleanup(func() {
		_ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		_ = in.Close()
		_ = w.cmd.Wait()
	})
	return w
}

// leave stops the servers with Ctrl-C, as the pages say.
func (r *reader) leave() {
	for _, w := range r.servers {
		w.interrupt()
		until(r.T, "the server stops", func() bool { return w.ended(0) })
	}
}

// terminal is a shell, and what it has printed.
type terminal struct {
	*testing.T
	cmd *exec.Cmd
	in  func(string)

	mu  sync.Mutex
	out bytes.Buffer
}

const finishedMark = "\x04finished "

func (w *terminal) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(text)
}

func (w *terminal) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.String()
}

// enter types a command, and returns where its output begins.
func (w *terminal) enter(line string) int {
	from := len(w.said())
	w.in(fmt.Sprintf("{ %s\n} </dev/null; printf '%s%%s\\n' $?\n", line, `\004finished `))
	return from
}

// ended reports whether the command whose output begins at from has ended.
func (w *terminal) ended(from int) bool {
	_, rest, found := strings.Cut(w.said()[from:], finishedMark)
	return found && strings.Contains(rest, "\n")
}

// code returns the exit code of that command.
func (w *terminal) code(from int) string {
	_, rest, _ := strings.Cut(w.said()[from:], finishedMark)
	code, _, _ := strings.Cut(rest, "\n")
	return code
}

// interrupt presses Ctrl-C.
func (w *terminal) interrupt() {
	if err := syscall.Kill(-w.cmd.Process.Pid, syscall.SIGINT); err != nil {
		w.Fatal(err)
	}
}
