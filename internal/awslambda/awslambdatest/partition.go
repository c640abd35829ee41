package awslambdatest

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/interlock-go/interlock/internal/awslambda"
)

// Partitions are the partitions of the events table that a function's role allows
// (dynamodb:LeadingKeys), by function. The Terraform module has the same. The alert-dispatcher may
// read all, since it reads the events of bursts, and writes only these.
var Partitions = map[awslambda.Function][]string{
	awslambda.EventSink:       {"EVENT#*", "LOG#*", "LOGS", "PIPELINE#*"},
	awslambda.AlertDispatcher: {"COMMIT#*", "NOTE#*"},
}

// WithRole returns a configuration for DynamoDB that rejects calls for other partitions than those
// of the function.
func WithRole(c aws.Config, f awslambda.Function) aws.Config {
	if c.HTTPClient == nil {
		c.HTTPClient = http.DefaultClient
	}
	c.HTTPClient = partitions{c.HTTPClient, Partitions[f], f == awslambda.AlertDispatcher}
	return c
}

// partitions rejects calls for other partitions.
type partitions struct {
	aws.HTTPClient
	allowed []string
	reads   bool // of all partitions
}

// leading matches the partition of a row, or of a query, in a request.
var leading = regexp.MustCompile(`"(?:PK|:h)":\{"S":"([^"]*)"`)

func (p partitions) Do(r *http.Request) (*http.Response, error) {
	if p.reads && slices.Contains([]string{"BatchGetItem", "GetItem", "Query"}, operationOf(r)) {
		return p.HTTPClient.Do(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	for _, found := range leading.FindAllStringSubmatch(string(body), -1) {
		if !slices.ContainsFunc(p.allowed, func(pattern string) bool {
			prefix, open := strings.CutSuffix(pattern, "*")
			return found[1] == prefix || open && strings.HasPrefix(found[1], prefix)
		}) {
			return refusal(r, http.StatusBadRequest, `{"__type": "com.amazon.coral.service#AccessDeniedException", "message": "not for this role: `+found[1]+`"}`), nil
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return p.HTTPClient.Do(r)
}
