package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strconv"
	"sync/atomic"
	"time"
)

// call is what is known of one request while it is answered. It is the context that its handlers are given and holds the
// answer as well: sensor writes come by the thousand, and this is one allocation instead of five.
type call struct {
	context.Context // the request's own
	response

	api   *API
	id    string
	path  string
	who   principal
	since time.Time
	err   error // what went wrong inside, for the log
}

type callKey struct{}

// Value gives the call itself, and what the request's own context holds.
func (c *call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// callOf is the call that ctx belongs to; nil outside of one.
func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// whoOf is who makes the call that ctx belongs to; nobody outside of one.
func whoOf(ctx context.Context) principal {
	if c := callOf(ctx); c != nil {
		return c.who
	}
	return principal{}
}

// ids gives each request a name: a few random digits for the process, and a count.
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

// maxID is how long a request id from outside may be.
const maxID = 64

// of is the id that the request came with, if it is one that can stand in a log, else a new one.
func (i *ids) of(given string) string {
	if given == "" || len(given) > maxID {
		return i.next()
	}
	for _, c := range []byte(given) {
		word := c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !word && c != '-' && c != '_' && c != '.' {
			return i.next()
		}
	}
	return given
}
