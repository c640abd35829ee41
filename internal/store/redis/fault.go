package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/internal/store"
)

const noRights = "redis does not let this user do that: it needs all commands on keys and channels of the prefix, see docs/REDIS.md"

// refusals maps the prefixes of errors with which Redis rejects everything to explanations. Those
// with a kind are faults: Redis is reachable but stores no changes.
var refusals = []struct {
	begins, means string
	kind          store.FaultKind
}{
	{"OOM", "redis is out of memory and took nothing: raise maxmemory, or keep less (retention)", store.Full},
	{"READONLY", "redis has become a read-only replica: it waits for the primary to be back, or for the Sentinels to name the new one", store.ReadOnly},
	{"LOADING", "redis is reading its data after a start: it waits until that is done", ""},
	{"MISCONF", "redis cannot write its data to disk and takes no changes: look at its disk and its log", store.Failing},
	{"NOREPLICAS", "redis has too few replicas to take changes (min-replicas-to-write)", ""},
	{"MASTERDOWN", "redis is a replica that has lost its primary", ""},
	{"NOAUTH", "redis wants a user and a password: give them in the URL", ""},
	{"WRONGPASS", "redis does not know this user and password: look at the URL", ""},
	{"NOPERM", noRights, ""},
	{"ERR The user executing the script can't", noRights, ""},
	{"LOST", "redis no longer has the data that this controller was started on, it was emptied or replaced: bring the data back, or start all controllers again to begin anew", ""},
	{"BUSY", "redis is busy with a script that does not end", ""},
	{"ERR max number of clients reached", "redis has as many connections as it takes: raise maxclients", ""},
}

// fault explains a rejection by Redis or a lost connection. It wraps err.
func (e *Engine) fault(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, redis.Nil) {
		return fmt.Errorf("no Sentinel of %s that answers knows this primary: look at its name, and at the Sentinels: %w", e.name, away{err})
	}
	if refusal, is := errors.AsType[redis.Error](err); is {
		for _, r := range refusals {
			switch {
			case !strings.HasPrefix(refusal.Error(), r.begins):
			case r.kind != "":
				return &store.Fault{Kind: r.kind, Remedy: r.means, Err: err}
			default:
				return fmt.Errorf("%s: %w", r.means, away{err})
			}
		}
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	_, lost := errors.AsType[net.Error](err)
	if lost || errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("no connection to redis at %s%s: %w", e.name, e.hint(err), away{err})
	}
	if _, unknown := errors.AsType[*tls.CertificateVerificationError](err); unknown {
		return fmt.Errorf("redis at %s shows a certificate of an unknown authority: name it with ca=FILE in the URL: %w", e.name, away{err})
	}
	return err
}

// hint adds advice for a lost connection, unless it will be retried anyway.
func (e *Engine) hint(err error) string {
	switch {
	case e.data != "":
		return ", it is tried again"
	case strings.HasPrefix(e.name, "redis://") && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return "; if it wants TLS, write rediss://"
	}
	return ""
}

// away makes an error match store.ErrAway too.
type away struct{ error }

func (a away) Unwrap() error        { return a.error }
func (a away) Is(target error) bool { return target == store.ErrAway }
