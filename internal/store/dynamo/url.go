package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// parameters are the query parameters allowed in a URL.
var parameters = []string{"region", "endpoint"}

var environmentForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

// target is a parsed URL.
type target struct {
	environment, region, endpoint string
}

// parseURL parses dynamodb://ENVIRONMENT[?region=REGION][&endpoint=URL].
func parseURL(text string) (target, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "dynamodb" {
		return target{}, fmt.Errorf("store %q is invalid: want dynamodb://ENVIRONMENT?region=REGION", text)
	}
	if u.User != nil {
		return target{}, errors.New("the URL of the tables has a user: " +
			"credentials come from the environment or a profile, as for every AWS tool")
	}
	t := target{environment: u.Host}
	if !environmentForm.MatchString(t.environment) || strings.Trim(u.Path, "/") != "" {
		return target{}, fmt.Errorf("store %q names no environment: want dynamodb://ENVIRONMENT?region=REGION, "+
			"with the environment of the Terraform module", text)
	}
	q := u.Query()
	for name := range q {
		if !slices.Contains(parameters, name) {
			return target{}, fmt.Errorf("store %q has a parameter %q: want one of %s",
				text, name, strings.Join(parameters, ", "))
		}
	}
	t.region, t.endpoint = q.Get("region"), q.Get("endpoint")
	if at, err := url.Parse(t.endpoint); t.endpoint != "" && (err != nil || at.Host == "") {
		return target{}, fmt.Errorf("store %q has the endpoint %q: want one like http://127.0.0.1:8000", text, t.endpoint)
	}
	return t, nil
}

// UnreachableError means that the tables could not be read, and why.
type UnreachableError struct {
	Environment, Region string
	Err                 error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("open the tables of environment %s in %s: %v", e.Environment, e.Region, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// Open returns the store on the tables at a URL. It fails with an UnreachableError if they cannot
// be read.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	e, err := OpenEngine(ctx, url, o)
	if err != nil {
		return nil, err
	}
	return e.Store(e), nil
}

// OpenEngine returns the engine for Open. It uses the AWS configuration of the process.
func OpenEngine(ctx context.Context, url string, o Options) (*Engine, error) {
	t, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	var with []func(*config.LoadOptions) error
	if t.region != "" {
		with = append(with, config.WithRegion(t.region))
	}
	if t.endpoint != "" {
		with = append(with, config.WithBaseEndpoint(t.endpoint))
	}
	c, err := config.LoadDefaultConfig(ctx, with...)
	if err != nil {
		return nil, fmt.Errorf("read the AWS configuration: %w", err)
	}
	if c.Region == "" {
		return nil, fmt.Errorf("store %s has no region: write dynamodb://%s?region=REGION, or set AWS_REGION",
			url, t.environment)
	}
	e := NewEngine(c, t.environment, o)
	if err := e.reach(ctx, c.Credentials); err != nil {
		return nil, &UnreachableError{Environment: t.environment, Region: c.Region, Err: err}
	}
	return e, nil
}

// reach reads a row of each table.
func (t *tables) reach(ctx context.Context, who aws.CredentialsProvider) error {
	if _, err := who.Retrieve(ctx); err != nil {
		return fmt.Errorf("there are no AWS credentials; "+
			"set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a role: %w", err)
	}
	for _, table := range Tables() {
		_, err := t.getRow(ctx, address{table.Name, "REACHED", "REACHED"}) // it need not exist
		if _, unsent := errors.AsType[*smithyhttp.RequestSendError](err); unsent {
			return fmt.Errorf("DynamoDB does not answer; check the region and the network: %w", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
