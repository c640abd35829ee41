package egress

import (
	"crypto/tls"
	"io"
	"net/http"
	"strconv"
	"time"
)

// maxAnswer is how much of an answer a client reads: no caller needs more, and a target must not be
// able to fill the memory.
const maxAnswer = 1 << 20

// Client returns an HTTP client that connects through the guard. It follows no redirect, because
// what is sent with a request (a token, a signature) is meant only for the configured address.
func (g *Guard) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Transport: bounded{g.Transport(), g.agent},
		Timeout:   timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// As returns a guard whose requests have that User-Agent header.
func (g *Guard) As(agent string) *Guard {
	named := *g
	named.agent = agent
	return &named
}

// Trusting returns a guard whose connections use c: the trusted authorities and the client's
// certificate. Nil means the defaults.
func (g *Guard) Trusting(c *tls.Config) *Guard {
	trusting := *g
	trusting.tls = c
	return &trusting
}

// bounded sets the User-Agent and limits the bodies of answers.
type bounded struct {
	next  http.RoundTripper
	agent string
}

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	if b.agent != "" && req.Header.Get("User-Agent") == "" {
		req = req.Clone(req.Context())
		req.Header.Set("User-Agent", b.agent)
	}
	resp, err := b.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}

// RetryAfter returns the Retry-After of an answer, given in seconds or as an instant, at most the
// given time; 0 if there is none.
func RetryAfter(answer http.Header, now time.Time, most time.Duration) time.Duration {
	wish := answer.Get("Retry-After")
	if seconds, err := strconv.ParseInt(wish, 10, 64); err == nil {
		return time.Duration(max(0, min(seconds, int64(most/time.Second)))) * time.Second
	}
	until, err := http.ParseTime(wish)
	if err != nil {
		return 0
	}
	return max(0, min(until.Sub(now), most))
}
