package awsapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// Secrets reads secrets from Secrets Manager and parameters from Systems Manager. Both services
// take one signed JSON request, so neither needs an SDK client. No error contains a value.
type Secrets struct {
	clients *Clients[vault]

	mu   sync.Mutex
	kept map[string]keptSecret
}

// keptSecret is a cached value and its expiry: jobs are polled more often than secrets change.
type keptSecret struct {
	value string
	until time.Time
}

const (
	keepSecret   = time.Minute
	secretWithin = 10 * time.Second
	maxSecret    = 1 << 18
)

// vault reads values in one region.
type vault struct {
	aws.Config
	via Via
}

// NewSecrets returns Secrets that connect through the cloud's guard with the credentials of the
// process.
func NewSecrets(c *Cloud) *Secrets {
	return &Secrets{clients: NewClients(c, func(cfg aws.Config, via Via) vault { return vault{cfg, via} }), kept: map[string]keptSecret{}}
}

// Read returns the value of ${secret:NAME#key} or ${ssm:NAME}. An error is a *job.Refusal.
func (s *Secrets) Read(kind job.SecretKind, name string) (string, error) {
	full := string(kind) + ":" + name
	s.mu.Lock()
	kept, is := s.kept[full]
	s.mu.Unlock()
	if is && time.Now().Before(kept.until) {
		return kept.value, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), secretWithin)
	defer cancel()
	value, err := s.read(ctx, kind, name)
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[full] = keptSecret{value, time.Now().Add(keepSecret)}
	return value, nil
}

func (s *Secrets) read(ctx context.Context, kind job.SecretKind, name string) (string, error) {
	id, key := name, ""
	if kind == job.ManagedSecret {
		id, key, _ = strings.Cut(name, "#")
	}
	v, err := s.clients.In(ctx, RegionOf(id))
	if err != nil {
		return "", err
	}
	text, err := v.value(ctx, kind, id)
	if err != nil || key == "" {
		return text, err
	}
	var fields map[string]any
	if json.Unmarshal([]byte(text), &fields) != nil {
		return "", job.Refuse(run.Permanent, "${%s:%s}: the secret is not a JSON object, so it has no key %s", kind, name, key)
	}
	switch field := fields[key].(type) {
	case string:
		return field, nil
	case nil:
		return "", job.Refuse(run.Permanent, "${%s:%s}: the secret has no key %s", kind, name, key)
	default:
		return fmt.Sprint(field), nil
	}
}

// value reads a value from the service.
func (v vault) value(ctx context.Context, kind job.SecretKind, id string) (string, error) {
	service, target, in := "secretsmanager", "secretsmanager.GetSecretValue", map[string]any{"SecretId": id}
	if kind == job.Parameter {
		service, target, in = "ssm", "AmazonSSM.GetParameter", map[string]any{"Name": id, "WithDecryption": true}
	}
	body, err := json.Marshal(in)
	if err != nil {
		return "", err
	}
	answer, err := v.send(ctx, service, target, body)
	if err != nil {
		return "", job.RefuseOver(err, run.Transient, "${%s:%s} cannot be read: %s did not answer", kind, id, service)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxSecret))
	if err != nil {
		return "", job.RefuseOver(err, run.Transient, "${%s:%s} cannot be read: the response of %s was cut off", kind, id, service)
	}
	var out struct {
		Type         string `json:"__type"`
		SecretString string
		Parameter    struct{ Value string }
	}
	if err := json.Unmarshal(text, &out); err != nil && answer.StatusCode == http.StatusOK {
		return "", job.Refuse(run.Transient, "${%s:%s} cannot be read: the response of %s is not JSON", kind, id, service)
	}
	if answer.StatusCode == http.StatusOK {
		value := cmp.Or(out.SecretString, out.Parameter.Value)
		if value == "" {
			return "", job.Refuse(run.Permanent, "${%s:%s} is empty or binary; store a text", kind, id)
		}
		return value, nil
	}
	code := out.Type[strings.LastIndex(out.Type, "#")+1:]
	category := run.Transient
	switch code {
	case "AccessDeniedException", "ResourceNotFoundException", "ParameterNotFound", "ValidationException", "InvalidRequestException":
		category = run.Permanent
	}
	if code == "AccessDeniedException" {
		code += "; the controller's AWS identity may not read it (deployed by the Terraform module: job_secret_arns, job_parameter_arns, job_secret_kms_key_arns)"
	}
	return "", job.Refuse(category, "${%s:%s} cannot be read: %s", kind, id, cmp.Or(code, answer.Status))
}

// send signs a request and sends it.
func (v vault) send(ctx context.Context, service, target string, body []byte) (*http.Response, error) {
	endpoint := aws.ToString(v.BaseEndpoint)
	if endpoint == "" {
		endpoint = "https://" + service + "." + v.Region + ".amazonaws.com"
		if strings.HasPrefix(v.Region, "cn-") {
			endpoint += ".cn"
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(endpoint, "/")+"/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	r.Header.Set("X-Amz-Target", target)
	credentials, err := v.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, r, hex.EncodeToString(sum[:]), service, v.Region, time.Now()); err != nil {
		return nil, err
	}
	return v.via(v.BaseEndpoint).Do(r)
}
