// Package email is the sink that sends mail by SMTP, encrypted unless the settings say otherwise.
// Mails about one run refer to the same message, so that mail programs show them as one
// conversation; a repeated mail has the same Message-ID, so that servers recognise it.
package email

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/post"
)

// Security is how the connection is encrypted.
type Security string

// The ways to encrypt a connection.
const (
	StartTLS Security = "starttls" // upgrade the connection; fail if the server cannot
	Implicit Security = "implicit" // TLS from the first byte
	None     Security = "none"
)

// usualPorts are the default ports by security.
var usualPorts = map[Security]int{StartTLS: 587, Implicit: 465, None: 25}

// Config is a mail server and the recipients.
type Config struct {
	Name               string
	Host               string
	Port               int // 0: the default one
	Security           Security
	Username, Password string // empty: no authentication
	From               string
	To                 []string
	Timeout            time.Duration
	Dial               func(ctx context.Context, network, address string) (net.Conn, error) // guarded against private addresses
	TLS                *tls.Config                                                          // nil: the system's certificate authorities
}

// Sink sends mail through one server.
type Sink struct {
	config Config
	tls    *tls.Config
}

var _ sink.Sink = (*Sink)(nil)

// New returns a sink that sends mail through c.Host.
func New(c Config) *Sink {
	if c.Port == 0 {
		c.Port = usualPorts[c.Security]
	}
	trust := c.TLS.Clone()
	if trust == nil {
		trust = &tls.Config{}
	}
	trust.ServerName, trust.MinVersion = c.Host, tls.VersionTLS12
	return &Sink{config: c, tls: trust}
}

func (s *Sink) Name() string { return s.config.Name }

// Send sends one mail to all recipients.
func (s *Sink) Send(ctx context.Context, a sink.Alert) error {
	m, err := s.message(a)
	if err != nil {
		return &sink.Misconfigured{Reason: fmt.Sprintf("email: %v", err)}
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel() // also closes the connection, if it is still open
	c, err := s.client(ctx)
	if err != nil {
		return &sink.Misconfigured{Reason: fmt.Sprintf("email: %v", err)}
	}
	server, err := c.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return judgeConnection(err)
	}
	if err := c.SendWithSMTPClient(server, m); err != nil && !m.IsDelivered() {
		return judgeMail(err)
	}
	// The server has accepted the mail; whether QUIT succeeds does not matter.
	_ = c.CloseWithSMTPClient(server)
	return nil
}

// client returns a client for one connection: it holds no state that two mails could share. Its
// connection is closed when ctx ends, because the SMTP library does not use ctx.
func (s *Sink) client(ctx context.Context) (*mail.Client, error) {
	dial := func(dialling context.Context, network, address string) (net.Conn, error) {
		conn, err := s.dial(dialling, network, address)
		if err == nil {
			context.AfterFunc(ctx, func() { conn.Close() })
		}
		return conn, err
	}
	options := []mail.Option{
		mail.WithPort(s.config.Port), mail.WithTimeout(s.config.Timeout), mail.WithDialContextFunc(dial), mail.WithTLSConfig(s.tls), mail.WithHELO("interlock"),
		mail.WithoutNoop(),
	}
	switch s.config.Security {
	case Implicit:
		options = append(options, mail.WithSSL())
	case None:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	case StartTLS:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if s.config.Username != "" {
		options = append(options, mail.WithUsername(s.config.Username), mail.WithPassword(s.config.Password),
			mail.WithOpportunisticSMTPAuth(mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthSCRAMSHA1, mail.SMTPAuthPlain, mail.SMTPAuthLogin))
	}
	return mail.NewClient(s.config.Host, options...)
}

// dial connects through the guard.
func (s *Sink) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := s.config.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	if s.config.Security == Implicit {
		secure := tls.Client(conn, s.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, err
		}
		conn = secure
	}
	return conn, nil
}

// judgeConnection classifies the error of a connection on which no mail could be sent.
func judgeConnection(err error) error {
	answer, answered := errors.AsType[*textproto.Error](err)
	switch {
	// The library has no error values for these two.
	case strings.Contains(err.Error(), "does not support STARTTLS"):
		return &sink.Misconfigured{Reason: "email: the mail server does not offer STARTTLS; set alerts.email.tls to implicit, or to none if the network is trusted"}
	case strings.Contains(err.Error(), "does not support SMTP AUTH"), errors.Is(err, mail.ErrNoSupportedAuthDiscovered):
		return &sink.Misconfigured{Reason: "email: the mail server offers no supported authentication (SCRAM, PLAIN, LOGIN); check port and tls"}
	case answered && answer.Code >= 500:
		return &sink.Misconfigured{Reason: fmt.Sprintf("email: the mail server rejects the connection: %v; check host, username and password", err)}
	default:
		return post.Unreachable("email: connect to the mail server", err)
	}
}

// judgeMail classifies the error of a rejected mail. Sender and recipients are the same for every
// mail, so a rejected address is a misconfiguration; any other error is about this mail.
func judgeMail(err error) error {
	failed, ok := errors.AsType[*mail.SendError](err)
	if !ok || failed.ErrorCode() < 500 {
		return fmt.Errorf("email: the mail was not accepted: %w", err)
	}
	switch failed.Reason {
	case mail.ErrSMTPMailFrom, mail.ErrSMTPRcptTo:
		return &sink.Misconfigured{Reason: fmt.Sprintf("email: %v; check from and to", err)}
	default:
		return &sink.Refused{Reason: fmt.Sprintf("email: the mail was rejected: %v", err)}
	}
}
