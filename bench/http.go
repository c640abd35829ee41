package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// serveOn serves s on a free loopback port. It returns the address and a function that stops the
// server.
func serveOn(s *http.Server) (address string, end func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l) // always returns an error, ErrServerClosed at the end
	}()
	return l.Addr().String(), func() {
		_ = s.Close()
		<-done
	}, nil
}

// rate sends requests over the given number of connections for a while and returns the rate of
// answers. Any status but 200 is an error. It reads and writes raw bytes instead of using an HTTP
// client, to keep the cost of the client low.
func rate(address string, connections int, d time.Duration, request func(connection, n int) []byte) (pace, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var answers atomic.Int64
	errs := make(chan error, connections)
	var wg sync.WaitGroup
	began, used := time.Now(), processorTime()
	for c := range connections {
		wg.Go(func() {
			errs <- converse(ctx, address, func(n int) []byte { return request(c, n) }, &answers)
		})
	}
	wg.Wait()
	took, used := time.Since(began), processorTime()-used
	for range connections {
		if err := <-errs; err != nil {
			return pace{}, err
		}
	}
	n := float64(answers.Load())
	return pace{rate: n / took.Seconds(), cpu: float64(used.Microseconds()) / n}, nil
}

// processorTime returns the processor time that this process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// converse sends one request after the other over one connection.
func converse(ctx context.Context, address string, request func(n int) []byte, answers *atomic.Int64) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	for n := 0; ctx.Err() == nil; n++ {
		if _, err := conn.Write(request(n)); err != nil {
			return err
		}
		if err := readAnswer(in); err != nil {
			return err
		}
		answers.Add(1)
	}
	return nil
}

// readAnswer reads one response with a Content-Length.
func readAnswer(in *bufio.Reader) error {
	status, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.Contains(status, []byte(" 200 ")) {
		rest, _ := in.Peek(min(in.Buffered(), 500))
		return fmt.Errorf("answered %s%s", status, rest)
	}
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
	}
	_, err = io.CopyN(io.Discard, in, int64(length))
	return err
}
