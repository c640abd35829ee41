// Package program is how programs are started on the controller's own machine: which of the server's variables they see,
// where they are looked for, and how all that they have started ends with them. It knows neither jobs nor probes; who keeps
// a program, and what its end means, is in job/command and evaluator.
package program

import (
	"maps"
	"slices"
)

// inherited are the variables of the server that every program gets. It gets no others: the server's environment holds
// secrets that are none of its business.
var inherited = []string{"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR"}

// defaultPath is where programs are looked for if the server itself has no PATH.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// Vars are environment variables by name.
type Vars map[string]string

// inherit returns what every program sees of the server's environment.
func inherit(getenv func(string) string) Vars {
	env := Vars{"PATH": defaultPath}
	for _, name := range inherited {
		if value := getenv(name); value != "" {
			env[name] = value
		}
	}
	return env
}

// List is the environment as a process takes it, in order.
func (v Vars) List() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		list = append(list, name+"="+v[name])
	}
	return list
}

// Limits are what one program and its processes may use together. A zero is no limit.
type Limits struct {
	Memory    int64 `json:"memory,omitempty"`    // bytes
	Processes int   `json:"processes,omitempty"` // threads count, too
	Output    int64 `json:"output,omitempty"`    // bytes printed
}
