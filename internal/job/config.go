// Package job holds what the job types share. Each type has a folder of its own beside it, with the config that a
// pipeline file gives under job.config; job/all lists them. The types never import each other.
package job

// AWS is what the job types on AWS have in common.
type AWS struct {
	Region string `yaml:"region" pattern:"^(.*\\$\\{.*|[a-z]{2,}(-[a-z]+)+-[0-9]+)$" hint:"write a region such as eu-west-1" doc:"The AWS region; the controller's own unless said."`
}

// Unanswered is for the job types whose target does not refuse a repeated key, so that a start without an answer may
// have happened or not.
type Unanswered struct {
	OnUnknown string `yaml:"onUnknown" enum:"hold,retry" default:"hold" doc:"When a start got no answer and its job cannot be found: hold the run for an operator, or retry and risk a second start."`
}

// RetriesUnanswered says that the file takes the risk of a second start.
func (u Unanswered) RetriesUnanswered() bool { return u.OnUnknown == "retry" }
