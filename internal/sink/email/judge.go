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

// judgeConnection says what follows from a connection on which no mail could be sent.
func judgeConnection(err error) error {
	code := codeOf(err)
	switch {
	// The library has no error values for these two.
	case strings.Contains(err.Error(), "does not support STARTTLS"):
		return &sink.Misconfigured{Reason: "email: the mail server does not offer STARTTLS; set alerts.email.tls to implicit, or to none if the network is trusted"}
	case strings.Contains(err.Error(), "does not support SMTP AUTH"), errors.Is(err, mail.ErrNoSupportedAuthDiscovered):
		return &sink.Misconfigured{Reason: "email: the mail server offers no way to log in that is known here (SCRAM, PLAIN, LOGIN); see whether port and tls are right"}
	case code >= 500:
		return &sink.Misconfigured{Reason: fmt.Sprintf("email: the mail server refuses the connection: %v; see whether host, username and password are right", err)}
	default:
		return post.Unreachable("email: connect to the mail server", err)
	}
}

// judgeMail says what follows from a mail that was not taken. Sender and recipients are the same for every mail, so that
// one who is refused is a matter of settings; anything else is about this mail.
func judgeMail(err error) error {
	var failed *mail.SendError
	if !errors.As(err, &failed) || failed.ErrorCode() < 500 {
		return fmt.Errorf("email: the mail was not accepted: %w", err)
	}
	switch failed.Reason {
	case mail.ErrSMTPMailFrom, mail.ErrSMTPRcptTo:
		return &sink.Misconfigured{Reason: fmt.Sprintf("email: %v; see whether from and to are right", err)}
	default:
		return &sink.Refused{Reason: fmt.Sprintf("email: the mail is refused: %v", err)}
	}
}

// codeOf is the code that a server answered with; 0 if it did not.
func codeOf(err error) int {
	var answer *textproto.Error
	if errors.As(err, &answer) {
		return answer.Code
	}
	return 0
}
