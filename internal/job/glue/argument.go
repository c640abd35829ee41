package glue

import "strings"

// The arguments that every run gets.
const (
	runIDArgument = "--interlock_run_id"
	dayArgument   = "--par_day"
	hourArgument  = "--par_hour"
)

// arguments are those of the run: the file's own, and beside them those that every run gets.
func (g api) arguments() map[string]string {
	arguments := map[string]string{
		dayArgument:   strings.ReplaceAll(g.attempt.Date(), "-", ""),
		runIDArgument: string(g.attempt.ID),
	}
	if hour := g.attempt.Hour(); hour != "" {
		arguments[hourArgument] = hour
	}
	for name, value := range g.Arguments {
		arguments["--"+strings.TrimPrefix(name, "--")] = string(value)
	}
	return arguments
}

// searchable says whether runs carry the attempt's id. With an argument of the file's own they do not, and another
// attempt's run could be taken for this one's.
func (g api) searchable() bool { return g.arguments()[runIDArgument] == string(g.attempt.ID) }
