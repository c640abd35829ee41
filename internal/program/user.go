package program

import (
	"fmt"
	"os/user"
	"strconv"
)

// Policy is the server's policy for programs on its own machine: jobs of type command, and command probes. The zero
// Policy runs them as the controller's own user.
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

// Inherit returns the part of the server's environment that every program gets. HOME and USER are those of the user
// that runs it.
func (p Policy) Inherit(getenv func(string) string) Vars {
	env := inherit(getenv)
	if p.User != nil {
		env["HOME"], env["USER"] = p.User.Home, p.User.Name
	}
	return env
}
