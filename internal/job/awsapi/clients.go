package awsapi

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// Clients holds the operations C of a service's clients (see Operation): one client per region, created on first use.
type Clients[C any] struct {
	cloud *Cloud
	make  func(aws.Config, Via) C

	mu   sync.Mutex
	made map[string]C
}

// Via returns the HTTP client of a service. An endpoint that the operator has set may be on any host; AWS's own are
// public.
type Via func(endpoint *string) aws.HTTPClient

// NewClients creates no client yet.
func NewClients[C any](c *Cloud, make func(aws.Config, Via) C) *Clients[C] {
	return &Clients[C]{cloud: c, make: make, made: map[string]C{}}
}

// In returns the client for a region, or for the controller's region if region is empty. An error is a *job.Refusal.
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
