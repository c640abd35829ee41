// Package post is the common part of HTTP sinks: it sends a request once and classifies the answer
// by the errors of the contract.
package post

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/sink"
)

// maxWait bounds the Retry-After of a receiver.
const maxWait = time.Hour

// maxAnswer is how much of an answer is read.
const maxAnswer = 4096

// Answer is the response to a request.
type Answer struct {
	Status int
	Body   []byte // its beginning
}

// Do sends a request of the sink who and returns the answer. Its errors are those of sink.Sink:
//   - 2xx is a success.
//   - 429 and 503 may ask for a pause.
//   - 408, 425 and 5xx are retried.
//   - A status that means a wrong address or wrong credentials is Misconfigured.
//   - Anything else is Refused.
//
// No error contains the address, because it may contain a secret.
func Do(client *http.Client, req *http.Request, who string, now time.Time) (Answer, error) {
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, Unreachable(who, err)
	}
	defer resp.Body.Close()
	// If the body breaks off, its beginning is enough: the status came first.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return Answer{Status: resp.StatusCode, Body: body}, judge(resp, who, now)
}

// Unreachable returns the error of a failed connection: Misconfigured if the egress guard or the
// sink's certificate is the cause.
func Unreachable(who string, err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	if errors.As(err, new(*egress.Refused)) || errors.As(err, new(*tls.CertificateVerificationError)) {
		return &sink.Misconfigured{Reason: fmt.Sprintf("%s: %v", who, err)}
	}
	return fmt.Errorf("%s: %w", who, err)
}

func judge(resp *http.Response, who string, now time.Time) error {
	reason := fmt.Sprintf("%s answered %s", who, resp.Status)
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		if after := egress.RetryAfter(resp.Header, now, maxWait); after > 0 {
			return &sink.Busy{After: after, Reason: reason}
		}
		return errors.New(reason)
	case code == http.StatusRequestTimeout || code == http.StatusTooEarly || code >= 500:
		return errors.New(reason)
	case code >= 300 && code < 400:
		return &sink.Misconfigured{Reason: reason + "; redirects are not followed: use the final address in the settings"}
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusNotFound || code == http.StatusMethodNotAllowed || code == http.StatusGone:
		return &sink.Misconfigured{Reason: reason + "; check its address and secret in the settings"}
	default:
		return &sink.Refused{Reason: reason}
	}
}
