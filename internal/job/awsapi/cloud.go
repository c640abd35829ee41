// Package awsapi is the access of job types to AWS. It uses the SDK's clients with the usual AWS
// configuration: profiles, roles, AWS_REGION, AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_<SERVICE> from
// the controller's environment. Clients are created on first use, so that a controller without such
// pipelines reads no AWS configuration.
//
// It adds what starts need:
//   - Requests pass the egress guard, each over its own connection.
//   - The SDK never retries a request that starts something.
//   - The size of answers is bounded.
//   - A Failure reports whether anything can have been started and which category it has, without secrets.
//
// It knows no service. The types glue, emr, emrserverless, stepfunction and lambda decide what a
// call means for a job.
package awsapi

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/smithy-go/logging"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// Cloud is AWS as the controller's environment describes it.
type Cloud struct {
	guard *egress.Guard

	mu     sync.Mutex
	loaded *setup
}

// setup is the configuration read from the environment.
type setup struct {
	aws.Config
	trust *http.Transport // its TLS settings apply to every connection
}

// New returns a Cloud that connects through the guard. It reads nothing yet.
func New(g *egress.Guard) *Cloud { return &Cloud{guard: g} }

// metadata are the addresses at which machines and containers on AWS get their own credentials.
// Only credential requests may go there.
var metadata = []string{"169.254.169.254", "fd00:ec2::254", "169.254.170.2", "169.254.170.23", "fd00:ec2::23"}

// setup reads the configuration once. After an error the next call reads it again.
func (c *Cloud) setup(ctx context.Context) (setup, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded == nil {
		loaded, err := c.load(ctx)
		if err != nil {
			return setup{}, job.Refuse(run.Permanent, "read the controller's AWS configuration: %s; check its AWS_* variables and its profile", Line(job.Redactor{}, err.Error()))
		}
		c.loaded = &loaded
	}
	return *c.loaded, nil
}

func (c *Cloud) load(ctx context.Context) (setup, error) {
	guard, err := c.guard.With(metadata...)
	if err != nil {
		return setup{}, err
	}
	// The SDK replaces a dialer's function with its own, but keeps its Control hook.
	client := awshttp.NewBuildableClient().
		WithTransportOptions(func(t *http.Transport) { t.Proxy = nil }).
		WithDialerOptions(func(d *net.Dialer) {
			d.ControlContext = func(ctx context.Context, network, address string, conn syscall.RawConn) error {
				return guard.Control(ctx, network, address, conn)
			}
		})
	loaded, err := config.LoadDefaultConfig(ctx,
		config.WithHTTPClient(client),
		config.WithEndpointCredentialOptions(func(o *endpointcreds.Options) { o.HTTPClient = client }),
		config.WithLogger(logging.Nop{}), // the errors have all that matters
	)
	if err != nil {
		return setup{}, err
	}
	// Nothing has been dialled yet: the SDK fetches credentials with the first call.
	if guard, err = guard.With(hosts(credentialEndpoints(ctx, loaded)...)...); err != nil {
		return setup{}, err
	}
	loaded.RetryMode, loaded.RetryMaxAttempts = "", 0 // a start must not be repeated, whatever AWS_MAX_ATTEMPTS says
	loaded.Retryer = twice
	trust := client.GetTransport()
	if bundled, ok := loaded.HTTPClient.(*awshttp.BuildableClient); ok { // with the certificates of AWS_CA_BUNDLE
		trust = bundled.GetTransport()
	}
	return setup{Config: loaded, trust: trust}, nil
}

// credentialEndpoints returns the addresses that the operator has set for credential providers.
func credentialEndpoints(ctx context.Context, loaded aws.Config) []string {
	endpoints := []string{aws.ToString(loaded.BaseEndpoint)}
	for _, source := range loaded.ConfigSources {
		if s, ok := source.(config.EnvConfig); ok {
			endpoints = append(endpoints, s.ContainerCredentialsEndpoint)
		}
		if s, ok := source.(interface{ GetEC2IMDSEndpoint() (string, bool, error) }); ok {
			endpoint, _, _ := s.GetEC2IMDSEndpoint()
			endpoints = append(endpoints, endpoint)
		}
		if s, ok := source.(interface {
			GetServiceBaseEndpoint(ctx context.Context, service string) (string, bool, error)
		}); ok {
			for _, service := range []string{"STS", "SSO", "SSO OIDC", "Signin"} {
				endpoint, _, _ := s.GetServiceBaseEndpoint(ctx, service)
				endpoints = append(endpoints, endpoint)
			}
		}
	}
	return endpoints
}

// hosts returns the hosts of those texts that are URLs.
func hosts(texts ...string) []string {
	var hosts []string
	for _, text := range texts {
		if u, err := url.Parse(text); err == nil && u.Hostname() != "" {
			hosts = append(hosts, u.Hostname())
		}
	}
	return hosts
}

// twice is the retryer of calls that may be repeated: it retries once. The controller polls again
// later anyway.
func twice() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts = 2
		o.MaxBackoff = 100 * time.Millisecond
	})
}

// Once is the retryer of every call that starts something, even if the service rejects a repeated
// key: if the SDK sent a request twice, the second answer would say nothing about the first
// request.
var Once aws.Retryer = aws.NopRetryer{}

// Clients holds the operations C of a service's clients (see Operation): one client per region,
// created on first use.
type Clients[C any] struct {
	cloud *Cloud
	make  func(aws.Config, Via) C

	mu   sync.Mutex
	made map[string]C
}

// Via returns the HTTP client of a service. An endpoint that the operator has set may be on any
// host; AWS's own are public.
type Via func(endpoint *string) aws.HTTPClient

// NewClients creates no client yet.
func NewClients[C any](c *Cloud, make func(aws.Config, Via) C) *Clients[C] {
	return &Clients[C]{cloud: c, make: make, made: map[string]C{}}
}

// In returns the client for a region, or for the controller's region if region is empty. An error
// is a *job.Refusal.
func (c *Clients[C]) In(ctx context.Context, region string) (C, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if client, ok := c.made[region]; ok {
		return client, nil
	}
	var none C
	s, err := c.cloud.setup(ctx)
	if err != nil {
		return none, err
	}
	if region != "" {
		s.Region = region
	}
	if s.Region == "" {
		return none, job.Refuse(run.Permanent, "no AWS region; write job.config.region, or set AWS_REGION or a profile's region for the controller")
	}
	c.made[region] = c.make(s.Config, func(endpoint *string) aws.HTTPClient { return c.cloud.sender(s, aws.ToString(endpoint)) })
	return c.made[region], nil
}
