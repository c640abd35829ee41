package egress

import (
	"io"
	"net/http"
	"time"
)

// maxAnswer is how much of an answer a client reads: nobody who sends through it needs more, and a target should not be
// able to fill the memory.
const maxAnswer = 1 << 20

// Client sends through the guard and waits so long for an answer. It follows no redirect, because what is sent with a
// request (a token, a signature) is meant for the address that the settings name and no other.
func (g *Guard) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Transport: bounded{g.Transport()},
		Timeout:   timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// bounded cuts off the bodies of answers.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
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
