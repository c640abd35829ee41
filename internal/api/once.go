package api

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/interlock-go/interlock/internal/router"
)

// Once lets a client repeat a request without repeating its effect.
type Once struct {
	Key string `header:"Idempotency-Key" maxLength:"100" doc:"A repeated request with the same key returns the first response and changes nothing, for 24 hours. The same key with a different request returns 422."`
}

// id returns the id under which the request is recorded; it is unique per client.
func (in Once) id(ctx context.Context) string {
	name := whoOf(ctx).name
	switch {
	case in.Key == "":
		return rand.Text()
	case name == "":
		return in.Key
	}
	return name + "/" + in.Key
}

// kept is a response as it is stored: the output or the problem.
type kept[O any] struct {
	Output  *O       `json:"output,omitempty"`
	Problem *Problem `json:"problem,omitempty"`
}

// once answers a request with the view of its result. With an Idempotency-Key, do takes effect at
// most once: it passes its argument to the router, which stores the response in the commit that
// does the work. A repeated request gets that response, and so does one that runs at the same time,
// here or on another replica. A rejection is stored as a response too; an error after which the
// outcome is unknown is not.
//
// request is the content of the request, in a form that does not depend on how it was sent.
func once[T, O any](ctx context.Context, a *API, in Once, request any, view func(T) (*O, *Problem), do func(router.Once[T]) (T, error)) (*O, error) {
	if in.Key == "" {
		result, err := do(router.Once[T]{})
		if err != nil {
			return nil, err
		}
		return viewed(view(result))
	}
	o := router.Once[T]{Key: requestKey(ctx, in.Key)}
	var err error
	if o.Request, err = digest(request); err != nil {
		return nil, err
	}
	o.Answer = func(result T) ([]byte, error) {
		out, p := view(result)
		return encodeAnswer(ctx, out, p)
	}
	if out, found, err := replay[O](ctx, a, o.Key, o.Request); found || err != nil {
		return out, err
	}
	result, failed := do(o)
	if errors.As(failed, new(*router.Refusal)) {
		data, err := encodeAnswer[O](ctx, nil, problemOf(failed))
		if err != nil {
			return nil, err
		}
		if err := a.operator.KeepAnswer(ctx, o.Key, router.Answer{Request: o.Request, Data: data}, a.now()); err != nil {
			return nil, err
		}
	}
	if out, found, err := replay[O](ctx, a, o.Key, o.Request); found || err != nil {
		return out, err
	}
	if failed != nil {
		return nil, failed
	}
	return viewed(view(result))
}

// viewed returns p as an error, if it is not nil.
func viewed[T any](out T, p *Problem) (T, error) {
	if p != nil {
		return out, p
	}
	return out, nil
}

// encodeAnswer returns a response in its stored form. A problem names the request that it first
// answered.
func encodeAnswer[O any](ctx context.Context, out *O, p *Problem) ([]byte, error) {
	if p != nil {
		p.place(ctx)
	}
	return json.Marshal(kept[O]{out, p})
}

// replay returns the stored response of a request, and whether there is one.
func replay[O any](ctx context.Context, a *API, key, request string) (*O, bool, error) {
	answer, found, err := a.operator.Answered(ctx, key, a.now())
	if err != nil || !found {
		return nil, false, err
	}
	if answer.Request != request {
		return nil, true, reusedKey()
	}
	var k kept[O]
	if err := json.Unmarshal(answer.Data, &k); err != nil {
		return nil, false, fmt.Errorf("read the answer to an earlier request: %w", err)
	}
	if k.Problem != nil {
		k.Problem.placed = true
		return nil, true, k.Problem
	}
	return k.Output, true, nil
}

// reusedKey is the response to a request whose Idempotency-Key was used for another request.
func reusedKey() *Problem {
	return problem(http.StatusUnprocessableEntity, keyReused, "this Idempotency-Key was used for another request; send this one with a new key")
}

// requestKey returns the key that a response is stored under: the client's key, separate from the
// keys of other clients.
func requestKey(ctx context.Context, key string) string {
	sum := sha256.Sum256([]byte(whoOf(ctx).name + "\x00" + key))
	return hex.EncodeToString(sum[:])
}

// digest returns a hash of a request's content.
func digest(request any) (string, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return "", fmt.Errorf("compare the request with an earlier one: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
