package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/store"
)

// Once makes a request idempotent: it may arrive more than once because a response was lost, or from two clients at the
// same time. The commit that carries out the request stores the response under Key. Every replica answers a repeat with
// that response, and a repeat changes nothing. The zero Once stores nothing: each request takes effect.
type Once[T any] struct {
	Key     string                  // identifies the request among those of all clients
	Request string                  // a digest of the request's content
	Answer  func(T) ([]byte, error) // encodes the response to a result
}

// Answer is the stored response to a request.
type Answer struct {
	Request string `json:"request"`
	Data    []byte `json:"data"`
}

// answerLife is how long a response is stored: a day, plus more than the clocks of replicas differ.
const answerLife = 25 * time.Hour

// errAnswered is returned if the request already has a response.
var errAnswered = errors.New("the request was answered before")

// Answered returns the stored response to a request, and whether there is one.
func (h *requestHandler) Answered(ctx context.Context, key string, now time.Time) (Answer, bool, error) {
	note, err := h.answerNote(ctx, key)
	if err != nil || !answers(note, now) {
		return Answer{}, false, err
	}
	var a Answer
	if err := json.Unmarshal(note.Data, &a); err != nil {
		return Answer{}, false, fmt.Errorf("read the answer to request %s: %w", key, err)
	}
	return a, true, nil
}

// KeepAnswer stores the response to a request that changed nothing else. It does nothing if there is one already.
func (h *requestHandler) KeepAnswer(ctx context.Context, key string, a Answer, now time.Time) error {
	read, err := h.answerNote(ctx, key)
	if err != nil || answers(read, now) {
		return err
	}
	b := store.Batch{ID: fmt.Sprintf("answer/%s/%d/%d", key, read.Version, now.UnixNano())}
	if err := putAnswer(&b, read, key, a, now); err != nil {
		return err
	}
	if err := h.commit(ctx, b, now); !errors.Is(err, store.ErrConflict) {
		return err
	}
	return nil // a conflict means that there is a response by now
}

// answered adds the response to the commit that produces the result. It returns errAnswered if there is one already.
func answered[T any](ctx context.Context, c *core, b *store.Batch, o Once[T], result T, now time.Time) error {
	if o.Key == "" {
		return nil
	}
	read, err := c.answerNote(ctx, o.Key)
	if err != nil {
		return err
	}
	if answers(read, now) {
		return errAnswered
	}
	data, err := o.Answer(result)
	if err != nil {
		return fmt.Errorf("write the answer to request %s: %w", o.Key, err)
	}
	return putAnswer(b, read, o.Key, Answer{o.Request, data}, now)
}

func putAnswer(b *store.Batch, read store.Note, key string, a Answer, now time.Time) error {
	data, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write the answer to request %s: %w", key, err)
	}
	b.SwapNote(read, store.Note{Kind: store.AnswerNote, Key: key, Data: data, Until: period.Instant(now.Add(answerLife))})
	return nil
}

// answers reports whether a note is a response that has not expired.
func answers(note store.Note, now time.Time) bool { return note.Version > 0 && now.Before(note.Until) }

// answerNote returns the note of a request, even if it has expired; the zero Note if there is none.
func (c *core) answerNote(ctx context.Context, key string) (store.Note, error) {
	return store.IfFound(c.store.Note(ctx, store.AnswerNote, key))
}
