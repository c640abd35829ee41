package email

import (
	"errors"
	"fmt"
	"net/textproto"
	"strings"

	"github.com/wneessen/go-mail"

	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/sink/post"
)

// judgeConnection classifies the error of a connection on which no mail could be sent.
func judgeConnection(err error) error {
	code := codeOf(err)
	switch {
	// The library has no error values for these two.
	case strings.Contains(err.Error(), "does not support STARTTLS"):
		return &sink.Misconfigured{Reason: "email: the mail server does not offer STARTTLS; set alerts.email.tls to implicit, or to none if the network is trusted"}
	case strings.Contains(err.Error(), "does not support SMTP AUTH"), errors.Is(err, mail.ErrNoSupportedAuthDiscovered):
		return &sink.Misconfigured{Reason: "email: the mail server offers no supported authentication (SCRAM, PLAIN, LOGIN); check port and tls"}
	case code >= 500:
		return &sink.Misconfigured{Reason: fmt.Sprintf("email: the mail server refuses the connection: %v; check host, username and password", err)}
	default:
		return post.Unreachable("email: connect to the mail server", err)
	}
}

// judgeMail classifies the error of a rejected mail. Sender and recipients are the same for every mail, so a rejected
// address is a misconfiguration; any other error is about this mail.
func judgeMail(err error) error {
	var failed *mail.SendError
	if !errors.As(err, &failed) || failed.ErrorCode() < 500 {
		return fmt.Errorf("email: the mail was not accepted: %w", err)
	}
	switch failed.Reason {
	case mail.ErrSMTPMailFrom, mail.ErrSMTPRcptTo:
		return &sink.Misconfigured{Reason: fmt.Sprintf("email: %v; check from and to", err)}
	default:
		return &sink.Refused{Reason: fmt.Sprintf("email: the mail is refused: %v", err)}
	}
}

// codeOf returns the SMTP code of the server's answer; 0 if there was none.
func codeOf(err error) int {
	var answer *textproto.Error
	if errors.As(err, &answer) {
		return answer.Code
	}
	return 0
}
