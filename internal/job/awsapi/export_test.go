package awsapi

import (
	"net"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// CredentialDialer returns the dialer of credential requests.
func CredentialDialer(t *testing.T, c *Cloud) *net.Dialer {
	t.Helper()
	s, err := c.setup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.HTTPClient.(*awshttp.BuildableClient).GetDialer()
}

// HTTPClient returns the HTTP client for the service at that endpoint.
func HTTPClient(t *testing.T, c *Cloud, endpoint string) aws.HTTPClient {
	t.Helper()
	s, err := c.setup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c.sender(s, endpoint)
}
