// Package awscall is how the functions speak to the services of AWS that wait for them and listen to them: Step Functions,
// EventBridge Scheduler, EventBridge, Lambda. Every call may be made again: names make the second one harmless.
//
// It decides nothing; what is called when is in internal/awslambda.
package awscall

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Config is AWS as a function finds it: Lambda puts region and credentials into the environment, for as long as the
// function lives. Reading profiles and asking for roles, as the SDK's own set-up does, would only make its start longer.
func Config(getenv func(string) string) aws.Config {
	c := aws.Config{
		Region: getenv("AWS_REGION"),
		Credentials: credentials.NewStaticCredentialsProvider(
			getenv("AWS_ACCESS_KEY_ID"), getenv("AWS_SECRET_ACCESS_KEY"), getenv("AWS_SESSION_TOKEN")),
	}
	if endpoint := getenv("AWS_ENDPOINT_URL"); endpoint != "" {
		c.BaseEndpoint = &endpoint
	}
	return c
}
