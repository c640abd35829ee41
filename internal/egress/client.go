package egress

import (
	"crypto/tls"
	"io"
	"net/http"
	"strconv"
	"time"
)

// maxAnswer is how much of an answer a client reads: nobody who sends through it needs more, and a target should not be
// able to fill the memory.
const maxAnswer = 1 << 20

// Client sends through the guard and waits so long for an answer. It follows no redirect, because what is sent with a
// request (a token, a signature) is meant for the address that the settings name and no other.
func (g *Guard) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Transport: bounded{g.Transport(), g.agent},
		Timeout:   timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// As has requests say who they are from, in their User-Agent header.
func (g *Guard) As(agent string) *Guard {
	named := *g
	named.agent = agent
	return &named
}

// Trusting has connections use c: which authorities they trust, and the client's certificate. Nil: as usual.
func (g *Guard) Trusting(c *tls.Config) *Guard {
	trusting := *g
	trusting.tls = c
	return &trusting
}

// bounded names the sender and cuts off the bodies of answers.
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

// RetryAfter is how long an answer asks to be left alone, in seconds or until an instant, and at most the given time; 0 if
// it does not say.
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
