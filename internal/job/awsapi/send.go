package awsapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// maxAnswer is how much of an answer is read. The largest answer of AWS is a Lambda function's, of
// 6 MB.
const maxAnswer = 8 << 20

var errTooLarge = fmt.Errorf("answered with more than %d MiB, which is not read", maxAnswer>>20)

// sender sends each request once and follows no redirect: a signature is valid for one address
// only.
type sender struct{ transport *http.Transport }

// sender returns the HTTP client of a service at an endpoint, or of AWS's own service if endpoint
// is "".
func (c *Cloud) sender(s setup, endpoint string) aws.HTTPClient {
	guard, err := c.guard.With(hosts(endpoint)...)
	if err != nil { // no host can have such a name; the SDK reports it
		guard = c.guard
	}
	transport := guard.Transport()
	transport.TLSClientConfig = s.trust.TLSClientConfig
	return sender{transport}
}

// Do sends a request. The SDK closes the request's body as soon as the answer begins, and WriteTo
// of a closed body fails, which would make the transport close the connection before the answer is
// read. A plain Read returns EOF instead.
func (s sender) Do(req *http.Request) (*http.Response, error) {
	if req.Body != nil && req.Body != http.NoBody {
		req.Body = struct {
			io.Reader
			io.Closer
		}{req.Body, req.Body}
	}
	if t, ok := req.Context().Value(traceKey{}).(*trace); ok {
		req = t.follow(req)
	}
	resp, err := s.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.ContentLength > maxAnswer {
		resp.Body.Close()
		return nil, errTooLarge
	}
	resp.Body = &bounded{body: resp.Body, left: maxAnswer}
	return resp, nil
}

// trace is what is known about a call's requests.
type trace struct {
	sent  atomic.Bool // connected, so that the request may have arrived
	token atomic.Value
}

type traceKey struct{}

// follow returns the request with hooks that update the trace.
func (t *trace) follow(req *http.Request) *http.Request {
	t.token.Store(req.Header.Get("X-Amz-Security-Token"))
	return req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { t.sent.Store(true) },
	}))
}

// secret returns the session token of the call's signature: a server may repeat it in its answer.
func (t *trace) secret() string {
	token, _ := t.token.Load().(string)
	return token
}

func traced(ctx context.Context) (context.Context, *trace) {
	t := new(trace)
	return context.WithValue(ctx, traceKey{}, t), t
}

// bounded is a body that returns an error once it is too long.
type bounded struct {
	body io.ReadCloser
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.body.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, errTooLarge
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("the response was cut off: %w", err)
	}
	return n, err
}

func (b *bounded) Close() error { return b.body.Close() }
