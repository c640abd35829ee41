// Package program starts programs on the controller's own machine: which of the server's variables
// they see, where they are looked up, and how all of their descendants end with them. It knows
// neither jobs nor probes; job/command and evaluator supervise programs and decide what their end
// means.
package program

import (
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
)

// inherited are the variables of the server that every program gets. It gets no others, because the
// server's environment contains secrets.
var inherited = []string{"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR"}

// defaultPath is the PATH of programs if the server itself has none.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// Vars are environment variables by name.
type Vars map[string]string

// List returns the environment in the form of exec.Cmd, sorted.
func (v Vars) List() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		list = append(list, name+"="+v[name])
	}
	return list
}

// Limits are what one program and its processes may use together. Zero means no limit.
type Limits struct {
	Memory    int64 `json:"memory,omitempty"`    // bytes
	Processes int   `json:"processes,omitempty"` // including threads
	Output    int64 `json:"output,omitempty"`    // bytes printed
}

// Policy is the server's policy for programs on its own machine: jobs of type command, and command
// probes. The zero Policy runs them as the controller's own user.
type Policy struct {
	Off  bool  // no programs are run
	User *User // whom they run as; nil: the controller's own user
	// Limits apply to each job of type command; a probe has a time limit and a limit on its answer.
	Limits Limits
	Cgroup string // the parent directory of jobs' control groups; "": none
}

// Refused is the error, with its remedy, if a Policy is Off.
const Refused = "programs are turned off on this server (jobs.command in its file); use another job type or probe, or set jobs: {command: on}"

// User is a user of this machine that runs programs.
type User struct {
	Name   string   `json:"name"`
	Home   string   `json:"home"`
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"groups"`
}

// FindUser returns the user with that name or numeric id.
func FindUser(name string) (*User, error) {
	found, err := user.Lookup(name)
	if err != nil {
		if found, err = user.LookupId(name); err != nil {
			return nil, fmt.Errorf("there is no user %q on this machine", name)
		}
	}
	ids, err := found.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("find the groups of user %q: %w", name, err)
	}
	u := &User{Name: found.Username, Home: found.HomeDir}
	for i, text := range append([]string{found.Uid, found.Gid}, ids...) {
		number, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("user %q has the id %q, which is not a number", name, text)
		}
		switch id := uint32(number); i {
		case 0:
			u.UID = id
		case 1:
			u.GID = id
		default:
			u.Groups = append(u.Groups, id)
		}
	}
	return u, nil
}

// Inherit returns the part of the server's environment that every program gets. HOME and USER are
// those of the user that runs it.
func (p Policy) Inherit(getenv func(string) string) Vars {
	env := Vars{"PATH": defaultPath}
	for _, name := range inherited {
		if value := getenv(name); value != "" {
			env[name] = value
		}
	}
	if p.User != nil {
		env["HOME"], env["USER"] = p.User.Home, p.User.Name
	}
	return env
}

// projectFile marks a project directory.
const projectFile = "interlock.yaml"

// ProjectDir returns the absolute directory that relative paths in a pipeline file are relative to.
// It goes up from the file to the first directory with an interlock.yaml, or with the "pipelines"
// directory it came through; without either it is the file's own directory. It is "" if that
// directory is not on this machine.
func ProjectDir(file string) string {
	path, err := filepath.Abs(file)
	if err != nil || file == "" {
		return ""
	}
	own := filepath.Dir(path)
	if info, err := os.Stat(own); err != nil || !info.IsDir() {
		return ""
	}
	for dir := own; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, projectFile)); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		switch {
		case filepath.Base(dir) == "pipelines":
			return up
		case up == dir:
			return own
		}
	}
}
