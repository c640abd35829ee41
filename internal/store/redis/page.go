package redis

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/internal/store"
)

// piece gives so many items after a place, and the place of the last of them.
type piece[T any] func(after string, limit int) (items []T, last string, err error)

// pageOf reads pieces until a page is full and one more is known, or nothing is left.
func pageOf[T any](limit int, after string, read piece[T], wanted func(T) bool, cursor func(T) string) (store.Page[T], error) {
	size := store.PageSize(limit)
	var found []T
	for {
		items, last, err := read(after, size+1)
		if err != nil {
			return store.Page[T]{}, err
		}
		for _, item := range items {
			if wanted(item) {
				found = append(found, item)
			}
		}
		if len(found) > size {
			return store.Page[T]{Items: found[:size], Next: cursor(found[size-1])}, nil
		}
		if len(items) <= size {
			return store.Page[T]{Items: found}, nil
		}
		after = last
	}
}

// sorted is a list that a sorted set of texts keeps.
type sorted struct {
	set     string
	wide    int    // how many bytes of a text are its place
	records string // what the names of its records begin with
	before  string // only what comes before this place, unless it is empty
}

// listPiece is a piece of such a list.
func listPiece[T any](ctx context.Context, s *Store, l sorted) piece[T] {
	return func(after string, limit int) (items []T, last string, err error) {
		from, to := "-", "+"
		if after != "" {
			from = "(" + after
		}
		if l.before != "" {
			to = "(" + l.before
		}
		var a arguments
		a.add(l.set)
		a.number(l.wide)
		a.add(l.records, from, to)
		a.number(limit)
		said, err := s.texts(ctx, listScript, a)
		if err != nil {
			return nil, "", err
		}
		for i := 0; i < len(said); i += 2 {
			item, err := decode[T](said[i+1])
			if err != nil {
				return nil, "", err
			}
			items, last = append(items, item), said[i]
		}
		return items, last, nil
	}
}

// numberCursor reads a cursor of one number, as the id of a stream's entry; "" if there is none.
func numberCursor(cursor string) (string, error) {
	if cursor == "" {
		return "", nil
	}
	parts, err := store.DecodeCursor(cursor, 1)
	if err != nil {
		return "", err
	}
	if _, err := strconv.ParseUint(parts[0], 10, 63); err != nil {
		return "", store.ErrCursor
	}
	return parts[0] + "-0", nil
}

// idNumber is the number that an entry's id begins with.
func idNumber(id string) string {
	number, _, _ := strings.Cut(id, "-")
	return number
}

// text is a field of an entry; "" if it has none.
func text(e redis.XMessage, field string) string {
	value, _ := e.Values[field].(string)
	return value
}
