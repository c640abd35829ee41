package awscall

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Config reads region and credentials, which Lambda puts into the environment for as long as the function lives. Reading
// profiles and asking for roles, as the SDK's own set-up does, would only make its start longer.
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
