package awsapi_test

import (
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/job/awsapi"
	"github.com/interlock-go/interlock/internal/job/awstest"
	"github.com/interlock-go/interlock/internal/run"
)

// clients returns clients of one service for the tests.
func clients(c *awsapi.Cloud) *awsapi.Clients[*sfn.Client] {
	return awsapi.NewClients(c, func(cfg aws.Config, via awsapi.Via) *sfn.Client {
		return sfn.NewFromConfig(cfg, func(o *sfn.Options) { o.HTTPClient = via(o.BaseEndpoint) })
	})
}

// cloud returns AWS as configured only by the test's environment.
func cloud(t *testing.T, env map[string]string) *awsapi.Cloud {
	t.Helper()
	awstest.Setenv(t)
	for name, value := range env {
		t.Setenv(name, value)
	}
	g, err := egress.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return awsapi.New(g)
}

var anExecution = &sfn.DescribeExecutionInput{ExecutionArn: aws.String("arn")}

// ask makes one call without retries.
func ask(t *testing.T, c *awsapi.Cloud, region string) error {
	t.Helper()
	client, err := clients(c).In(t.Context(), region)
	if err != nil {
		return err
	}
	_, err = awsapi.Call(t.Context(), awsapi.Request{What: "describe it"}, client.DescribeExecution, anExecution, func(o *sfn.Options) { o.Retryer = awsapi.Once })
	return err
}

// service is a server that records the Authorization header of the last request.
type service struct {
	*httptest.Server
	mu   sync.Mutex
	auth string
}

func newService(t *testing.T, start func(*httptest.Server)) *service {
	s := new(service)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.auth = r.Header.Get("Authorization")
		awstest.Reply(w, map[string]string{"status": "RUNNING"})
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	start(s.Server)
	t.Cleanup(s.Close)
	return s
}

// wantSigned checks the access key and region that the last request was signed with.
func (s *service) wantSigned(t *testing.T, key, region string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.HasPrefix(s.auth, "AWS4-HMAC-SHA256 Credential="+key+"/") || !strings.Contains(s.auth, "/"+region+"/states/aws4_request, ") {
		t.Errorf("signed as %s, want %s in %s", s.auth, key, region)
	}
}

func writeFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestNothingIsReadBeforeItIsNeeded(t *testing.T) {
	c := cloud(t, map[string]string{"AWS_PROFILE": "nobody"})
	err := ask(t, c, "")
	if refusal := (*job.Refusal)(nil); !errors.As(err, &refusal) || refusal.Category != run.Permanent || !strings.Contains(refusal.Reason, "nobody") {
		t.Errorf("got %v", err)
	}
	s := newService(t, (*httptest.Server).Start)
	t.Setenv("AWS_PROFILE", "")
	t.Setenv("AWS_ENDPOINT_URL_SFN", s.URL)
	if err := ask(t, c, ""); err != nil {
		t.Errorf("after the file was fixed: %v", err)
	}
}

func TestTheRegionOfTheFileOverridesTheControllers(t *testing.T) {
	s := newService(t, (*httptest.Server).Start)
	c := cloud(t, map[string]string{"AWS_ENDPOINT_URL": s.URL})
	for region, want := range map[string]string{"": awstest.Region, "us-east-2": "us-east-2"} {
		if err := ask(t, c, region); err != nil {
			t.Fatal(err)
		}
		s.wantSigned(t, "AKIDEXAMPLE", want)
	}
	err := ask(t, cloud(t, map[string]string{"AWS_REGION": ""}), "")
	if refusal := (*job.Refusal)(nil); !errors.As(err, &refusal) || refusal.Category != run.Permanent || !strings.Contains(refusal.Reason, "job.config.region") {
		t.Errorf("without one: %v", err)
	}
}

func TestAProfileIsReadAsTheCommandLineReadsIt(t *testing.T) {
	s := newService(t, (*httptest.Server).Start)
	c := cloud(t, map[string]string{
		"AWS_REGION": "", "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "etl",
		"AWS_CONFIG_FILE":             writeFile(t, "[profile etl]\nregion = ap-south-1\nservices = local\n[services local]\nsfn =\n  endpoint_url = "+s.URL+"\n"),
		"AWS_SHARED_CREDENTIALS_FILE": writeFile(t, "[etl]\naws_access_key_id = AKIDPROFILE\naws_secret_access_key = x\n"),
	})
	if err := ask(t, c, ""); err != nil {
		t.Fatal(err)
	}
	s.wantSigned(t, "AKIDPROFILE", "ap-south-1")
}

// noKeys returns an environment without access keys.
func noKeys(more map[string]string) map[string]string {
	env := map[string]string{"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": ""}
	for name, value := range more {
		env[name] = value
	}
	return env
}

const keys = `{"Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": "AKIDFETCHED", "SecretAccessKey": "x", "Token": "y", "Expiration": "2999-01-01T00:00:00Z"}`

func TestCredentialsOfAContainerAreFetched(t *testing.T) {
	s := newService(t, (*httptest.Server).Start)
	container := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/creds" && r.Header.Get("Authorization") == "letmein" {
			io.WriteString(w, keys)
		}
	}))
	defer container.Close()
	c := cloud(t, noKeys(map[string]string{
		"AWS_ENDPOINT_URL_SFN": s.URL, "AWS_CONTAINER_CREDENTIALS_FULL_URI": container.URL + "/creds", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "letmein",
	}))
	if err := ask(t, c, ""); err != nil {
		t.Fatal(err)
	}
	s.wantSigned(t, "AKIDFETCHED", awstest.Region)
}

func TestCredentialsOfAMachineAreFetched(t *testing.T) {
	s := newService(t, (*httptest.Server).Start)
	machine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "600")
		switch r.Method + " " + r.URL.Path {
		case "PUT /latest/api/token":
			io.WriteString(w, "session")
		case "GET /latest/meta-data/iam/security-credentials/":
			io.WriteString(w, "etl-role")
		case "GET /latest/meta-data/iam/security-credentials/etl-role":
			io.WriteString(w, keys)
		default:
			http.NotFound(w, r)
		}
	}))
	defer machine.Close()
	c := cloud(t, noKeys(map[string]string{
		"AWS_ENDPOINT_URL_SFN": s.URL, "AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": machine.URL,
	}))
	if err := ask(t, c, ""); err != nil {
		t.Fatal(err)
	}
	s.wantSigned(t, "AKIDFETCHED", awstest.Region)
}

func TestARoleIsAssumed(t *testing.T) {
	s := newService(t, (*httptest.Server).Start)
	var asked string
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = string(body)
		io.WriteString(w, `<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials><AccessKeyId>AKIDROLE</AccessKeyId>`+
			`<SecretAccessKey>x</SecretAccessKey><SessionToken>y</SessionToken><Expiration>2999-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`)
	}))
	defer tokens.Close()
	c := cloud(t, noKeys(map[string]string{
		"AWS_PROFILE": "etl", "AWS_ENDPOINT_URL_STS": tokens.URL, "AWS_ENDPOINT_URL_SFN": s.URL,
		"AWS_CONFIG_FILE": writeFile(t, "[profile etl]\nrole_arn = arn:aws:iam::123456789012:role/etl\nsource_profile = base\n[profile base]\naws_access_key_id = AKIDBASE\naws_secret_access_key = x\n"),
	}))
	if err := ask(t, c, ""); err != nil {
		t.Fatal(err)
	}
	if s.wantSigned(t, "AKIDROLE", awstest.Region); !strings.Contains(asked, "RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fetl") {
		t.Errorf("asked for %s", asked)
	}
}

func TestWithoutCredentialsNothingIsSent(t *testing.T) {
	s := newService(t, (*httptest.Server).Start)
	err := ask(t, cloud(t, noKeys(map[string]string{"AWS_ENDPOINT_URL": s.URL})), "")
	f := (*awsapi.Failure)(nil)
	if !errors.As(err, &f) || !f.Certain || f.Category != run.Transient || !strings.Contains(f.Text, "credentials") || s.auth != "" {
		t.Errorf("got %v, %q", err, s.auth)
	}
}

func TestTheOperatorsOwnCertificatesAreTrusted(t *testing.T) {
	s := newService(t, (*httptest.Server).StartTLS)
	bundle := writeFile(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	if err := ask(t, cloud(t, map[string]string{"AWS_ENDPOINT_URL": s.URL, "AWS_CA_BUNDLE": bundle}), ""); err != nil {
		t.Error(err)
	}
	err := ask(t, cloud(t, map[string]string{"AWS_ENDPOINT_URL": s.URL, "AWS_CA_BUNDLE": ""}), "")
	if f := (*awsapi.Failure)(nil); !errors.As(err, &f) || !f.Certain || !strings.Contains(f.Text, "certificate") {
		t.Errorf("got %v", err)
	}
}

// TestOnlyEndpointsThatTheOperatorSetMayBeAnywhere has the SDK dial an address that no operator
// setting names.
func TestOnlyEndpointsThatTheOperatorSetMayBeAnywhere(t *testing.T) {
	s := newService(t, (*httptest.Server).Start)
	elsewhere := func(o *sfn.Options) { o.BaseEndpoint = aws.String(s.URL) }
	for allow, want := range map[string]bool{"": false, "127.0.0.1": true} {
		awstest.Setenv(t)
		g, err := egress.New(strings.Fields(allow))
		if err != nil {
			t.Fatal(err)
		}
		client, err := clients(awsapi.New(g)).In(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = awsapi.Call(t.Context(), awsapi.Request{What: "describe it"}, client.DescribeExecution, anExecution, elsewhere)
		f := (*awsapi.Failure)(nil)
		switch refused := errors.As(err, &f); {
		case want && err != nil:
			t.Errorf("allowed %q: %v", allow, err)
		case !want && (!refused || !f.Certain || f.Category != run.Permanent || !strings.Contains(f.Text, "egress.allow")):
			t.Errorf("allowed %q: got %v", allow, err)
		}
	}
}

func TestOnlyCredentialRequestsMayReachMetadataAddresses(t *testing.T) {
	c := cloud(t, nil)
	client, err := clients(c).In(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	fetches := awsapi.CredentialDialer(t, c)
	for address, metadata := range map[string]bool{
		"169.254.169.254": true, "169.254.170.2": true, "169.254.170.23": true, "fd00:ec2::254": true, "fd00:ec2::23": true,
		"169.254.1.1": false, "10.0.0.1": false, "127.0.0.1": false,
	} {
		req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://%s/", bracketed(address)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Options().HTTPClient.Do(req); !errors.As(err, new(*egress.Refused)) {
			t.Errorf("a service at %s: got %v", address, err)
		}
		err = fetches.ControlContext(t.Context(), "tcp", bracketed(address)+":80", nil)
		if metadata != (err == nil) {
			t.Errorf("credentials at %s: got %v", address, err)
		}
	}
}

func bracketed(address string) string {
	if strings.Contains(address, ":") {
		return "[" + address + "]"
	}
	return address
}
