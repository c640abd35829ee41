package api_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"

	"github.com/interlock-go/interlock/internal/api"
)

// bounded starts a server with these limits, and returns a function that opens a connection. A
// request to /busy reports that it began, and blocks until it may end.
func bounded(t *testing.T, all, perAddress int) (dial func() net.Conn, began, end chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	began, end = make(chan struct{}), make(chan struct{})
	s := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/busy" {
			began <- struct{}{}
			<-end
		}
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(api.Bound(s, l, all, perAddress)) // always ends with an error
	}()
	t.Cleanup(func() {
		s.Close()
		<-done
	})
	return func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}, began, end
}

func send(t *testing.T, c net.Conn, path string) {
	t.Helper()
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		t.Error(err)
	}
}

// answered reports whether a request on the connection was answered; false if the connection was
// closed.
func answered(c net.Conn) bool {
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
}

func TestIdleConnectionsKeepNoClientOut(t *testing.T) {
	for name, limits := range map[string][2]int{"in all": {3, 100}, "from one address": {100, 3}} {
		t.Run(name, func(t *testing.T) {
			dial, _, _ := bounded(t, limits[0], limits[1])
			var idle []net.Conn
			for range 20 {
				idle = append(idle, dial())
			}
			c := dial()
			send(t, c, "/")
			if !answered(c) {
				t.Error("a request behind 20 idle connections was not answered")
			}
			if n, err := idle[0].Read(make([]byte, 1)); err == nil {
				t.Errorf("the connection that was idle longest is open and sent %d bytes", n)
			}
		})
	}
}

func TestBusyConnectionsAreNotClosed(t *testing.T) {
	dial, began, end := bounded(t, 2, 2)
	var working []net.Conn
	for range 2 {
		c := dial()
		send(t, c, "/busy")
		<-began
		working = append(working, c)
	}
	late := dial()
	if n, err := late.Read(make([]byte, 1)); err == nil {
		t.Errorf("a third connection was accepted and sent %d bytes", n)
	}
	for range working {
		end <- struct{}{}
	}
	for _, c := range working {
		if !answered(c) {
			t.Error("a busy connection was closed")
		}
	}
}
