package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/internal/period"
)

// ErrCursor means that a cursor is malformed or belongs to another list.
var ErrCursor = errors.New("cursor is not understood: use the one a page came with, or none")

const (
	DefaultPage = 100
	MaxPage     = 1000
)

// PageSize returns the page size for a limit: 0 or less means DefaultPage, and MaxPage is the
// maximum.
func PageSize(limit int) int {
	if limit <= 0 {
		return DefaultPage
	}
	return min(limit, MaxPage)
}

// Page is one page of a list. Next is the cursor of the next page; it is empty exactly if there are
// no more items. A page starts after the last item of the previous one, in list order: an item that
// exists all the time is on exactly one page, whatever is added or removed meanwhile.
type Page[T any] struct {
	Items []T
	Next  string
}

// FirstPage returns the first page of found, the items in list order from the start of that page
// on.
func FirstPage[T any](found []T, limit int, cursor func(T) string) Page[T] {
	size := PageSize(limit)
	if len(found) <= size {
		return Page[T]{Items: found}
	}
	return Page[T]{Items: found[:size:size], Next: cursor(found[size-1])}
}

// PeriodKey returns text that sorts bytewise like period.Period.Compare, for stores that sort text.
// For the zero Period it returns "", which sorts first.
func PeriodKey(p period.Period) string {
	if p.IsZero() {
		return ""
	}
	year, month, day := p.Date()
	hour, minute := p.Clock()
	return fmt.Sprintf("%04d%02d%02d%02d%s%02d%c", year, month, day, hour, repeatKey(p), minute, sizeKey(p.Size()))
}

// sizeKey sorts larger periods first. Periods longer than a day were added later than the others,
// whose keys are already stored.
func sizeKey(s period.Size) byte {
	switch s {
	case period.Quarter:
		return ')'
	case period.Month:
		return '*'
	case period.Week:
		return '+'
	case period.Day:
		return '0'
	case period.Hour:
		return '1'
	case period.Minute:
	}
	return '2'
}

// repeatKey returns six digits: 0 for the first occurrence of a local time; for a repeated one,
// larger the further west its offset is.
func repeatKey(p period.Period) string {
	name := p.String()
	_, clock, timed := strings.Cut(name, "T")
	at := strings.IndexAny(clock, "+-")
	if !timed || at < 0 {
		return "000000"
	}
	var h, m, s int
	// The offset is in canonical form; if it has no seconds, the last number is missing.
	_, _ = fmt.Sscanf(clock[at+1:], "%02d:%02d:%02d", &h, &m, &s)
	offset := h*3600 + m*60 + s
	if clock[at] == '-' {
		offset = -offset
	}
	const day = 86400
	return fmt.Sprintf("%06d", day-offset)
}
