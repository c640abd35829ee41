// Package stepfunction is the job type that starts an execution of an AWS Step Functions state
// machine.
package stepfunction

import (
	"encoding/json"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/job"
)

// Config is job.config of a step-function job.
type Config struct {
	StateMachineARN string `yaml:"stateMachineARN" required:"true" pattern:"^(.*\\$\\{.*|arn:aws[a-z-]*:states:[a-z0-9-]+:[0-9]{12}:stateMachine:.+)$" hint:"write its ARN such as arn:aws:states:eu-west-1:123456789012:stateMachine:name" doc:"The ARN of the state machine, which must be of type STANDARD."`
	Input           any    `yaml:"input" doc:"The execution's input: any value, or JSON text."`
	job.AWS
}

func (c *Config) Check() []document.Finding {
	if text, is := c.Input.(string); is && !json.Valid([]byte(job.Mask(text))) {
		return []document.Finding{{Path: "input", Message: "a text must be JSON; write the input as a mapping instead"}}
	}
	return nil
}
