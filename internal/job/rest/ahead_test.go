package rest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/egress"
	"github.com/interlock-go/interlock/internal/job"
)

// target answers, and signals when each connection is made and ends.
func target(t *testing.T) (url string, made, ended chan struct{}) {
	made, ended = make(chan struct{}, 10), make(chan struct{}, 10)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			made <- struct{}{}
		case http.StateClosed:
			ended <- struct{}{}
		default:
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL, made, ended
}

func client(t *testing.T) *Client {
	t.Helper()
	g, err := egress.New([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	return New(g)
}

func send(t *testing.T, c *Client, url string) error {
	t.Helper()
	m, err := NewMessage(http.MethodPost, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Send(t.Context(), m, time.Minute)
	return err
}

func TestARequestIsSentOverTheConnectionThatWasMadeForIt(t *testing.T) {
	url, made, _ := target(t)
	c := client(t)
	c.ahead.keptFor = time.Minute
	c.Prepare(url + "/somewhere?else=1")
	<-made
	for range 2 { // the second has to make its own
		if err := send(t, c, url); err != nil {
			t.Fatal(err)
		}
	}
	if n := 1 + len(made); n != 2 {
		t.Errorf("%d connections were made, want 2", n)
	}
}

func TestAConnectionThatNothingIsSentOverIsClosed(t *testing.T) {
	url, made, ended := target(t)
	c := client(t)
	c.ahead.keptFor = 0
	c.Prepare(url)
	<-made
	<-ended
	if err := send(t, c, url); err != nil {
		t.Errorf("nothing can be sent after it: %v", err)
	}
	if n := len(c.ahead.made); n != 0 {
		t.Errorf("%d addresses are remembered", n)
	}
}

func TestAConnectionThatFailedAheadIsARefusal(t *testing.T) {
	c := client(t)
	calls := 0
	c.ahead.keptFor = time.Minute
	c.ahead.dial = func(context.Context, string, string) (net.Conn, error) {
		calls++
		return nil, errors.New("nobody there")
	}
	c.Prepare("http://127.0.0.1:1")
	err := send(t, c, "http://127.0.0.1:1")
	if refusal := (*job.Refusal)(nil); !errors.As(err, &refusal) || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

func TestWhoWaitsForAConnectionThatWasBegunCanGiveUp(t *testing.T) {
	answer := make(chan net.Conn)
	a := &ahead{keptFor: time.Minute, made: map[string][]*early{}, dial: func(context.Context, string, string) (net.Conn, error) {
		return <-answer, nil
	}}
	a.begin("127.0.0.1:80")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.DialContext(ctx, "tcp", "127.0.0.1:80"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	ours, theirs := net.Pipe()
	answer <- ours // it is no longer wanted
	if _, err := theirs.Read(make([]byte, 1)); err == nil {
		t.Error("it stays open")
	}
}

func TestNothingIsPreparedForAnInvalidURL(t *testing.T) {
	c := client(t)
	c.Prepare("http://[::1")
	if n := len(c.ahead.made); n != 0 {
		t.Errorf("%d addresses are dialled", n)
	}
}
