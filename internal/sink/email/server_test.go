package email_test

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"sync"
	"testing"
)

// letter is a mail as it arrived.
type letter struct {
	from      string
	to        []string
	data      string
	encrypted bool
	user      string
}

// mailServer is an SMTP server with the parts of RFC 5321, 3207 and 4954 that sending mail needs.
type mailServer struct {
	t        *testing.T
	listener net.Listener
	cert     *httptest.Server // has a certificate for this machine, and its CA
	implicit bool
	noTLS    bool
	answers  map[string]string // overrides of the usual answers, by command

	mu      sync.Mutex
	letters []letter
	conns   int
}

func newMailServer(t *testing.T) *mailServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &mailServer{t: t, listener: listener, cert: httptest.NewTLSServer(nil), answers: map[string]string{}}
	t.Cleanup(s.cert.Close)
	t.Cleanup(func() { listener.Close() })
	return s
}

// run serves until the test ends.
func (s *mailServer) run() *mailServer {
	var open sync.WaitGroup
	s.t.Cleanup(open.Wait)
	s.t.Cleanup(func() { s.listener.Close() })
	open.Go(func() {
		for {
			conn, err := s.listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns++
			s.mu.Unlock()
			open.Go(func() { s.serve(conn) })
		}
	})
	return s
}

// session is one connection.
type session struct {
	server *mailServer
	conn   net.Conn
	lines  *textproto.Reader
	mail   letter
}

func (s *mailServer) serve(conn net.Conn) {
	defer func() { conn.Close() }()
	c := &session{server: s, conn: conn}
	if s.implicit {
		c.encrypt()
	}
	c.lines = textproto.NewReader(bufio.NewReader(c.conn))
	c.say(s.answer("CONNECT", "220 mail.example ESMTP"))
	for {
		line, err := c.lines.ReadLine()
		if err != nil || !c.do(line) {
			return
		}
	}
}

func (s *mailServer) answer(command, usual string) string {
	if a, ok := s.answers[command]; ok {
		return a
	}
	return usual
}

func (c *session) say(lines ...string) {
	fmt.Fprint(c.conn, strings.Join(lines, "\r\n")+"\r\n")
}

func (c *session) encrypt() {
	c.conn = tls.Server(c.conn, &tls.Config{Certificates: c.server.cert.TLS.Certificates})
	c.mail.encrypted = true
}

// do answers one command, and reports whether to continue.
func (c *session) do(line string) bool {
	s := c.server
	command, argument, _ := strings.Cut(line, " ")
	command = strings.ToUpper(command)
	switch command {
	case "EHLO":
		extensions := []string{"250-mail.example"}
		if !c.mail.encrypted && !s.noTLS {
			extensions = append(extensions, "250-STARTTLS")
		}
		c.say(append(extensions, s.answer("EHLO", "250-AUTH PLAIN LOGIN"), "250 8BITMIME")...)
	case "STARTTLS":
		c.say("220 go ahead")
		c.encrypt()
		c.lines = textproto.NewReader(bufio.NewReader(c.conn))
	case "AUTH":
		_, encoded, _ := strings.Cut(argument, " ")
		plain, _ := base64.StdEncoding.DecodeString(encoded)
		parts := strings.Split(string(plain), "\x00")
		if !c.mail.encrypted || len(parts) != 3 || parts[2] != password {
			c.say("535 5.7.8 authentication credentials invalid")
			return true
		}
		c.mail.user = parts[1]
		c.say("235 welcome")
	case "MAIL", "RCPT":
		address := argument[strings.IndexByte(argument, '<')+1 : strings.IndexByte(argument, '>')]
		answer := s.answer(command, "250 fine")
		if command == "MAIL" {
			c.mail.from, c.mail.to = address, nil
		} else {
			c.mail.to = append(c.mail.to, address)
		}
		c.say(answer)
	case "DATA":
		c.say("354 go on")
		data, err := c.lines.ReadDotBytes()
		if err != nil {
			return false
		}
		answer := s.answer("DATA", "250 taken")
		if strings.HasPrefix(answer, "2") {
			c.mail.data = string(data)
			s.mu.Lock()
			s.letters = append(s.letters, c.mail)
			s.mu.Unlock()
		}
		c.say(answer)
	case "QUIT":
		c.say("221 bye")
		return false
	default:
		c.say("250 fine")
	}
	return true
}
