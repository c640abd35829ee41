package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// call is the state of one request. It is the context of the request's handlers and also holds the
// response: sensor writes are frequent, and this is one allocation instead of five.
type call struct {
	context.Context // the request's context
	response

	api     *API
	id      string
	path    string
	who     principal
	body    body
	attempt int // that its callback token or permit is for
	since   time.Time
	err     error // an internal error, for the log
}

type callKey struct{}

// Value returns the call itself, or a value of the request's context.
func (c *call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// callOf returns the call that ctx belongs to; nil outside a call.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// whoOf returns the client that makes the call of ctx; the zero principal outside a call.
func whoOf(ctx context.Context) principal {
	if c := callOf(ctx); c != nil {
		return c.who
	}
	return principal{}
}

// ids generates request ids: a random prefix per process, and a counter.
type ids struct {
	prefix string
	last   atomic.Uint64
}

func newIDs() *ids {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return &ids{prefix: hex.EncodeToString(b[:]) + "-"}
}

func (i *ids) next() string {
	var id [32]byte
	return string(strconv.AppendUint(append(id[:0], i.prefix...), i.last.Add(1), 36))
}

// maxID is the longest request id that is accepted from a client.
const maxID = 64

// of returns the id that the client sent if it is safe to log, otherwise a new one.
func (i *ids) of(given string) string {
	if given == "" || len(given) > maxID || strings.ContainsFunc(given, unsafeInID) {
		return i.next()
	}
	return given
}

func unsafeInID(c rune) bool {
	word := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	return !word && c != '-' && c != '_' && c != '.'
}
