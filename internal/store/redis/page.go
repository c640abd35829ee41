package redis

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-go/interlock/internal/store"
)

// sorted is a list that a sorted set of texts keeps.
type sorted struct {
	set     string
	wide    int    // how many bytes of a text are its place
	records string // what the names of its records begin with
	before  string // only what comes before this place, unless it is empty
}

// listPiece is a piece of such a list.
func listPiece[T any](ctx context.Context, s *Store, l sorted) store.Piece[T] {
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

// streamCursor reads a cursor of one number, as the id of a stream's entry; "" if there is none.
func streamCursor(cursor string) (string, error) {
	n, err := store.AfterNumber(cursor)
	if err != nil || n == 0 {
		return "", err
	}
	return strconv.FormatInt(n, 10) + "-0", nil
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
