package awsapi

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// Clients are what C needs of a service's clients (see Operation): one per region, made when it is first needed.
type Clients[C any] struct {
	cloud *Cloud
	make  func(aws.Config, Via) C

	mu   sync.Mutex
	made map[string]C
}

// Via gives the HTTP client of a service. If the operator has set the service's endpoint, its host may be anywhere; those
// of AWS itself are public.
type Via func(endpoint *string) aws.HTTPClient

// NewClients makes no client yet.
func NewClients[C any](c *Cloud, make func(aws.Config, Via) C) *Clients[C] {
	return &Clients[C]{cloud: c, make: make, made: map[string]C{}}
}

// In is the client for a region; for that of the controller where none is given. An error is a *job.Refusal.
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
