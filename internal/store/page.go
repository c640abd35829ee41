package store

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/interlock-go/interlock/internal/period"
)

// ErrCursor says that a cursor was not given out by the list it is used with.
var ErrCursor = errors.New("cursor is not understood: use the one a page came with, or none")

// The sizes of a page.
const (
	DefaultPage = 100
	MaxPage     = 1000
)

// PageSize is how many items a list gives for a limit: 0 or less means DefaultPage, and none gives more than MaxPage.
func PageSize(limit int) int {
	if limit <= 0 {
		return DefaultPage
	}
	return min(limit, MaxPage)
}

// Page is one page of a list. Next leads to the one after it and is empty exactly if there is nothing more. A page goes on
// after the last item of the one before it, by the order of the list: an item that is there all the time is on exactly one
// page, whatever comes or goes meanwhile.
type Page[T any] struct {
	Items []T
	Next  string
}

// EncodeCursor makes a cursor of the parts that say where a page ended; the same in every store.
func EncodeCursor(parts ...string) string {
	text, err := json.Marshal(parts)
	if err != nil {
		return "" // strings always have a JSON form
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// DecodeCursor takes a cursor of n parts apart again, or returns ErrCursor.
func DecodeCursor(cursor string, n int) ([]string, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return nil, fmt.Errorf("%.80q: %w", cursor, ErrCursor)
	}
	var parts []string
	if err := json.Unmarshal(text, &parts); err != nil || len(parts) != n {
		return nil, fmt.Errorf("%.80q: %w", cursor, ErrCursor)
	}
	return parts, nil
}

// PeriodKey is a text that sorts, byte by byte, as period.Period.Compare does: what a store that keeps sorted texts
// orders periods by. The zero Period gives "", which comes before all.
func PeriodKey(p period.Period) string {
	if p.IsZero() {
		return ""
	}
	year, month, day := p.Date()
	hour, minute := p.Clock()
	return fmt.Sprintf("%04d%02d%02d%02d%s%02d%c", year, month, day, hour, repeatKey(p), minute, sizeKey(p.Size()))
}

// sizeKey puts larger slices first. Weeks and months came after the others, whose keys are stored.
func sizeKey(s period.Size) byte {
	switch s {
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

// repeatKey is six digits: 0 for a first occurrence, and for a repeated one more the further west its offset is.
func repeatKey(p period.Period) string {
	name := p.String()
	_, clock, timed := strings.Cut(name, "T")
	at := strings.IndexAny(clock, "+-")
	if !timed || at < 0 {
		return "000000"
	}
	var h, m, s int
	// The offset stands in canonical form; without seconds the last number is simply not there.
	_, _ = fmt.Sscanf(clock[at+1:], "%02d:%02d:%02d", &h, &m, &s)
	offset := h*3600 + m*60 + s
	if clock[at] == '-' {
		offset = -offset
	}
	const day = 86400
	return fmt.Sprintf("%06d", day-offset)
}
