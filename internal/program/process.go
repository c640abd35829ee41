// Package program starts programs on the controller's own machine: which of the server's variables they see, where
// they are looked up, and how all of their descendants end with them. It knows neither jobs nor probes; job/command
// and evaluator supervise programs and decide what their end means.
package program

import (
	"maps"
	"slices"
)

// inherited are the variables of the server that every program gets. It gets no others, because the server's
// environment contains secrets.
var inherited = []string{"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR"}

// defaultPath is the PATH of programs if the server itself has none.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// Vars are environment variables by name.
type Vars map[string]string

// inherit returns the part of the server's environment that every program gets.
func inherit(getenv func(string) string) Vars {
	env := Vars{"PATH": defaultPath}
	for _, name := range inherited {
		if value := getenv(name); value != "" {
			env[name] = value
		}
	}
	return env
}

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
