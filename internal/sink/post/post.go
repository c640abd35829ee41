// Package post is what sinks over HTTP share: a request is sent once, and its answer judged in the words of the contract.
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

// maxWait bounds what a receiver may ask for with Retry-After.
const maxWait = time.Hour

// maxTold is how much of an answer is kept.
const maxTold = 4096

// Answer is what came back for a request.
type Answer struct {
	Status int
	Body   []byte // its beginning
}

// Do sends a request of the sink who, and gives the answer. The error is that of an answer which the sink cannot have
// taken as sent, in the words of sink.Sink: 2xx is taken, 429 and 503 may ask for a pause, 408, 425 and 5xx are tried
// again, what says that the address or the credentials are wrong waits for somebody to mend them, and anything else is
// refused for good. No error tells the address: it may hold a secret.
func Do(client *http.Client, req *http.Request, who string, now time.Time) (Answer, error) {
	resp, err := client.Do(req)
	if err != nil {
		return Answer{}, Unreachable(who, err)
	}
	defer resp.Body.Close()
	// What was read before an answer broke off is enough: its status came first.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxTold))
	return Answer{Status: resp.StatusCode, Body: body}, judge(resp, who, now)
}

// Unreachable is the error of a sink that could not be connected to. Where the guard or the sink's certificate is in the
// way, somebody has to mend the settings.
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
		return &sink.Misconfigured{Reason: reason + "; redirects are not followed: put the address that it means into the settings"}
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusNotFound || code == http.StatusMethodNotAllowed || code == http.StatusGone:
		return &sink.Misconfigured{Reason: reason + "; see whether its address and secret in the settings are right"}
	default:
		return &sink.Refused{Reason: reason}
	}
}
