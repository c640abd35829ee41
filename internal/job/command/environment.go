package command

import (
	"maps"
	"slices"
	"strconv"

	"github.com/interlock-go/interlock/internal/job"
)

// inherited are the variables of the server that every command gets. It gets no others: the server's environment holds
// secrets that are none of its business.
var inherited = []string{"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR"}

// defaultPath is where programs are looked for if the server itself has no PATH.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// vars are environment variables by name.
type vars map[string]string

// environment is what a command sees: the few variables of the server, over them the file's, and the attempt's own.
func environment(a job.Attempt, c *Config, getenv func(string) string) vars {
	env := vars{"PATH": defaultPath}
	for _, name := range inherited {
		if value := getenv(name); value != "" {
			env[name] = value
		}
	}
	for name, value := range c.Env {
		env[name] = string(value)
	}
	env["INTERLOCK_RUN_ID"] = string(a.ID)
	env["INTERLOCK_PIPELINE"] = string(a.Pipeline)
	env["INTERLOCK_DATE"] = a.Date()
	env["INTERLOCK_HOUR"] = a.Hour()
	env["INTERLOCK_ATTEMPT"] = strconv.Itoa(a.Number)
	if a.Callback.URL != "" {
		env["INTERLOCK_CALLBACK_URL"] = a.Callback.URL
		env["INTERLOCK_CALLBACK_TOKEN"] = a.Callback.Token
	}
	return env
}

// list is the environment as a process takes it, in order.
func (v vars) list() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		list = append(list, name+"="+v[name])
	}
	return list
}
