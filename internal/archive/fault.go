package archive

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// fault says what went wrong without a word of the connection string: what the driver says names the host, the user and
// the database, and it is not wrapped, so that nobody prints it after all.
func fault(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("archive: %s: %w", doing, ctx.Err())
	}
	said := fmt.Errorf("archive: %s: %s", doing, cause(err))
	if _, answered := errors.AsType[*pgconn.PgError](err); answered {
		return said
	}
	return away{said}
}

// ErrAway is found in an error if Postgres did not answer.
var ErrAway = errors.New("postgres does not answer")

type away struct{ error }

func (away) Is(target error) bool { return target == ErrAway }

func cause(err error) string {
	var refused *pgconn.PgError
	var connecting *pgconn.ConnectError
	if errors.As(err, &refused) {
		return answered(refused, errors.As(err, &connecting))
	}
	var code syscall.Errno
	var unverified *tls.CertificateVerificationError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var lookup *net.DNSError
	switch {
	case errors.As(err, &unverified), errors.As(err, &unknown), errors.As(err, &name):
		return "Postgres' certificate is not trusted; give sslrootcert, and the host name that it is made out to"
	case errors.As(err, &lookup):
		return "the host of the connection string has no address"
	case errors.As(err, &code):
		return "Postgres cannot be reached: " + code.Error()
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return "Postgres does not answer in time"
	default:
		return "the connection to Postgres failed or was lost"
	}
}

// answered is what Postgres itself said. Of a connection that it turned down only the code is told: the text names who
// connects to what.
func answered(e *pgconn.PgError, connecting bool) string {
	switch {
	case strings.HasPrefix(e.Code, "28"):
		return fmt.Sprintf("Postgres refuses the user or the password of the connection string (%s)", e.Code)
	case strings.HasPrefix(e.Code, "3D"):
		return fmt.Sprintf("the database of the connection string does not exist (%s); create it", e.Code)
	case e.Code == "42501":
		return fmt.Sprintf("the user of the connection string lacks a privilege (%s); it must be able to create tables, and to read and write them", e.Code)
	case connecting:
		return fmt.Sprintf("Postgres refuses the connection (%s); its log says why", e.Code)
	default:
		return fmt.Sprintf("Postgres says: %s (%s)", e.Message, e.Code)
	}
}
