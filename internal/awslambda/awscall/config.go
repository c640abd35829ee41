package awscall

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Config reads region and credentials from the environment, where Lambda sets them for the lifetime
// of the function. The SDK's own set-up also reads profiles and looks for roles, which would only
// lengthen a cold start.
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
