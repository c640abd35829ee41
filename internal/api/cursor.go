package api

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/interlock-go/interlock/internal/event"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// cursors encrypts and authenticates list positions. A page may end with an item that the client
// may not see, so the item's name must not be readable. Equal positions produce equal cursors, so
// that responses keep their ETag.
type cursors struct {
	aead  cipher.AEAD
	nonce []byte // the key that nonces are derived with
}

// cursorBlock is the padding block size of plaintexts, so that a cursor does not reveal the length
// of a name.
const cursorBlock = 64

// newCursors derives the keys from secret. Without a secret, cursors are valid only in this
// process.
func newCursors(secret []byte) *cursors {
	if len(secret) == 0 {
		secret = make([]byte, 32)
		_, _ = rand.Read(secret) // never fails: crypto/rand ends the program instead
	}
	derive := func(what string) []byte {
		key, err := hkdf.Key(sha256.New, secret, nil, "interlock cursor "+what, 32)
		if err != nil {
			panic(err) // 32 bytes are never too many
		}
		return key
	}
	block, err := aes.NewCipher(derive("encryption"))
	if err != nil {
		panic(err) // 32 bytes is a valid AES key size
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the block size of GCM
	}
	return &cursors{aead: aead, nonce: derive("nonce")}
}

// seal returns the cursor for a position in a list; "" for "".
func (c *cursors) seal(list, place string) string {
	if place == "" {
		return ""
	}
	mac := hmac.New(sha256.New, c.nonce)
	fmt.Fprintf(mac, "%s\n%s", list, place)
	nonce := mac.Sum(nil)[:c.aead.NonceSize()]
	padded := append([]byte(place), 0x80)
	padded = append(padded, make([]byte, (cursorBlock-len(padded)%cursorBlock)%cursorBlock)...)
	return base64.RawURLEncoding.EncodeToString(c.aead.Seal(nonce, nonce, padded, []byte(list)))
}

// open returns the position in a cursor of the list; store.ErrCursor if the cursor is of another
// list or not authentic.
func (c *cursors) open(list, cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	sealed, err := base64.RawURLEncoding.DecodeString(cursor)
	size := c.aead.NonceSize()
	if err != nil || len(sealed) < size {
		return "", fmt.Errorf("%.80q: %w", cursor, store.ErrCursor)
	}
	padded, err := c.aead.Open(nil, sealed[:size], sealed[size:], []byte(list))
	if err != nil {
		return "", fmt.Errorf("%.80q: %w", cursor, store.ErrCursor)
	}
	return string(padded[:bytes.LastIndexByte(padded, 0x80)]), nil
}

// next returns the cursor of the page after the item last.
func (c *cursors) next(list, last string) *string { return text(c.seal(list, last)) }

// paged is a store whose page cursors are safe to show to clients.
type paged struct {
	records
	cursors *cursors
}

func (p paged) Runs(ctx context.Context, q store.RunQuery) (store.Page[run.Run], error) {
	return through(p.cursors, "runs", &q.Cursor, &q.Limit, func() (store.Page[run.Run], error) { return p.records.Runs(ctx, q) })
}

func (p paged) LatestReadings(ctx context.Context, q store.LatestQuery) (store.Page[*sensor.Reading], error) {
	return through(p.cursors, "sensors", &q.Cursor, &q.Limit, func() (store.Page[*sensor.Reading], error) { return p.records.LatestReadings(ctx, q) })
}

func (p paged) History(ctx context.Context, q store.HistoryQuery) (store.Page[*sensor.Reading], error) {
	return through(p.cursors, "history", &q.Cursor, &q.Limit, func() (store.Page[*sensor.Reading], error) { return p.records.History(ctx, q) })
}

func (p paged) Deadlines(ctx context.Context, q store.DeadlineQuery) (store.Page[store.Deadline], error) {
	return through(p.cursors, "deadlines", &q.Cursor, &q.Limit, func() (store.Page[store.Deadline], error) { return p.records.Deadlines(ctx, q) })
}

func (p paged) Events(ctx context.Context, q store.EventQuery) (store.Page[event.Event], error) {
	return through(p.cursors, "events", &q.Cursor, &q.Limit, func() (store.Page[event.Event], error) { return p.records.Events(ctx, q) })
}

// cut returns one page of a complete list that is sorted by place: the items after the cursor that
// the client may see.
func cut[T, V any](c *cursors, name string, in Paging, items []T, place func(T) string, sees func(T) bool, view func(T) V) (*output[List[V]], error) {
	after, err := c.open(name, in.Cursor)
	if err != nil {
		return nil, err
	}
	out, last := List[V]{Items: []V{}}, ""
	for _, item := range items {
		if place(item) <= after || !sees(item) {
			continue
		}
		if out.full(in.Limit) {
			out.NextCursor = c.next(name, last)
			break
		}
		out.add(view(item))
		last = place(item)
	}
	return answer(out), nil
}

// A page ends early once its items reach maxPageBytes. Items are read from the store pieceItems at
// a time, so that at most one piece more than that is in memory.
const (
	maxPageBytes = 1 << 20
	pieceItems   = 16
)

// through opens the cursor of a query, reads a page piece by piece, and seals the cursor of the
// next page.
func through[T any](c *cursors, list string, cursor *string, limit *int, read func() (store.Page[T], error)) (page store.Page[T], err error) {
	if *cursor, err = c.open(list, *cursor); err != nil {
		return page, err
	}
	size := store.PageSize(*limit)
	for bytes := 0; ; {
		*limit = min(pieceItems, size-len(page.Items))
		piece, err := read()
		if err != nil {
			return page, err
		}
		page.Items = append(page.Items, piece.Items...)
		*cursor = piece.Next
		if *cursor != "" && len(page.Items) < size {
			bytes += encodedSize(piece.Items)
		}
		if *cursor == "" || len(page.Items) >= size || bytes >= maxPageBytes {
			page.Next = c.seal(list, *cursor)
			return page, nil
		}
	}
}

// encodedSize returns the size of v as JSON.
func encodedSize(v any) int {
	text, err := json.Marshal(v)
	if err != nil {
		return maxPageBytes // counts as a full page; a value without a JSON form fails later
	}
	return len(text)
}
