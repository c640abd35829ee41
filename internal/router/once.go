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

// Once is a request that may arrive more than once: because an answer was lost, or from two places at the same moment. The
// commit that carries the request out stores the answer under Key, so that a repeat is answered alike, by every replica, and
// changes nothing. The zero Once stores nothing: each request counts.
type Once[T any] struct {
	Key     string                  // names the request among those of all callers
	Request string                  // a digest of what is asked for
	Answer  func(T) ([]byte, error) // the answer to a result, in the caller's own form
}

// Answer is what a request was answered.
type Answer struct {
	Request string `json:"request"`
	Data    []byte `json:"data"`
}

// answerLife is how long an answer is kept: a day, and more than any two clocks differ.
const answerLife = 25 * time.Hour

// errAnswered says that a request was answered before.
var errAnswered = errors.New("the request was answered before")

// Answered returns the answer to a request, and whether there is one.
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

// KeepAnswer stores the answer to a request that changed nothing else. It does nothing if there is an answer.
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
	return nil // a conflict means that there is an answer by now
}

// answered adds the answer to a result to the commit that brings the result about. It is errAnswered if there is an answer.
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

// answers says whether a note is an answer that still counts.
func answers(note store.Note, now time.Time) bool { return note.Version > 0 && now.Before(note.Until) }

// answerNote is the note of a request, also of one whose time is over; the zero Note if there is none.
func (c *core) answerNote(ctx context.Context, key string) (store.Note, error) {
	note, err := c.store.Note(ctx, store.AnswerNote, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Note{}, fmt.Errorf("read the answer to request %s: %w", key, err)
	}
	return note, nil
}
