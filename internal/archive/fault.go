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

// fault describes an error without revealing the connection string. The driver's errors name the
// host, the user and the database, so the driver's error is not wrapped and cannot be printed by
// accident.
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

// ErrAway matches errors (errors.Is) that mean Postgres did not answer.
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
		return "Postgres' certificate is not trusted; set sslrootcert, and use the host name in the certificate"
	case errors.As(err, &lookup):
		return "the host in the connection string does not resolve"
	case errors.As(err, &code):
		return "Postgres cannot be reached: " + code.Error()
	case errors.Is(err, context.DeadlineExceeded), pgconn.Timeout(err):
		return "Postgres does not answer in time"
	default:
		return "the connection to Postgres failed or was lost"
	}
}

// answered describes an error that Postgres returned. For a rejected connection it gives only the
// code, because the message names the user and the database.
func answered(e *pgconn.PgError, connecting bool) string {
	switch {
	case strings.HasPrefix(e.Code, "28"):
		return fmt.Sprintf("Postgres rejects the user or the password in the connection string (%s)", e.Code)
	case strings.HasPrefix(e.Code, "3D"):
		return fmt.Sprintf("the database in the connection string does not exist (%s); create it", e.Code)
	case e.Code == "42501":
		return fmt.Sprintf("the user in the connection string lacks a privilege (%s); it must be able to create tables, and to read and write them", e.Code)
	case connecting:
		return fmt.Sprintf("Postgres rejects the connection (%s); its log says why", e.Code)
	default:
		return fmt.Sprintf("Postgres reports: %s (%s)", e.Message, e.Code)
	}
}
