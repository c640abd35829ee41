package command

import (
	"strconv"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/program"
)

// environment is what a command sees: the few variables of the server, over them the file's, and the attempt's own.
func environment(a job.Attempt, c *Config, policy program.Policy, getenv func(string) string) program.Vars {
	env := policy.Inherit(getenv)
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
