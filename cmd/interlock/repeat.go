package main

import (
	"context"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"
)

const (
	// repeatEvery is how often a record that keeps repeating is logged.
	repeatEvery = 10 * time.Minute
	// maxRepeated bounds how many different records are remembered; further ones are all logged.
	maxRepeated = 1000
)

// repeats is a log handler that summarises what repeats. It logs a record at once, and each that
// says the same within repeatEvery once at the end of that time: the latest, with their number. A
// record that says something else, such as that a sink works again, is logged at once too.
type repeats struct {
	slog.Handler
	seen *seenRecords
}

// seenRecords are the records of the last repeatEvery, by what they say.
type seenRecords struct {
	mu   sync.Mutex
	said map[string]*repetition
}

// repetition counts the records that were not logged since one that says the same was.
type repetition struct {
	count int
	last  slog.Record
	out   slog.Handler
}

// summarised returns a logger that summarises what repeats.
func summarised(l *slog.Logger) *slog.Logger {
	return slog.New(&repeats{l.Handler(), &seenRecords{said: map[string]*repetition{}}})
}

func (r *repeats) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &repeats{r.Handler.WithAttrs(attrs), r.seen}
}

func (r *repeats) WithGroup(name string) slog.Handler {
	return &repeats{r.Handler.WithGroup(name), r.seen}
}

func (r *repeats) Handle(ctx context.Context, record slog.Record) error {
	if what, repeatable := saying(record); repeatable && r.seen.again(what, record, r.Handler) {
		return nil
	}
	return r.Handler.Handle(ctx, record)
}

// again counts a record if one that says the same was logged within repeatEvery.
func (s *seenRecords) again(what string, record slog.Record, out slog.Handler) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.said[what]; one != nil {
		one.count, one.last, one.out = one.count+1, record.Clone(), out
		return true
	}
	if len(s.said) < maxRepeated {
		s.said[what] = &repetition{}
		time.AfterFunc(repeatEvery, func() { s.summarise(what) })
	}
	return false
}

// summarise logs the latest of the counted records, or forgets what they said if there were none.
func (s *seenRecords) summarise(what string) {
	s.mu.Lock()
	one := *s.said[what]
	if one.count == 0 {
		delete(s.said, what)
		s.mu.Unlock()
		return
	}
	s.said[what] = &repetition{}
	s.mu.Unlock()
	time.AfterFunc(repeatEvery, func() { s.summarise(what) })
	record := slog.NewRecord(time.Now(), one.last.Level, one.last.Message, one.last.PC)
	one.last.Attrs(func(a slog.Attr) bool { record.AddAttrs(a); return true })
	record.AddAttrs(slog.Int("repeated", one.count), slog.Duration("within", repeatEvery), slog.Time("last", one.last.Time))
	_ = one.out.Handle(context.Background(), record) // as slog.Logger does
}

// saying returns what a record says: its message and attributes without those that differ each
// time. It is not repeatable if a client was given its request's id to look it up in the log.
func saying(r slog.Record) (what string, repeatable bool) {
	var b strings.Builder
	b.WriteString(r.Level.String() + withoutNumbers(r.Message))
	repeatable = true
	r.Attrs(func(a slog.Attr) bool {
		switch {
		case a.Key == "request":
			repeatable = r.Level < slog.LevelError
		case a.Key == "task" || a.Key == "attempt" || a.Key == "remote" || a.Key != "status" && isNumber(a.Value):
		case a.Key == "error" || a.Key == "path":
			b.WriteString("\n" + a.Key + "=" + withoutNumbers(a.Value.String()))
		default:
			b.WriteString("\n" + a.Key + "=" + a.Value.String())
		}
		return true
	})
	return b.String(), repeatable
}

func isNumber(v slog.Value) bool {
	switch v.Kind() {
	case slog.KindInt64, slog.KindUint64, slog.KindFloat64, slog.KindDuration, slog.KindTime:
		return true
	default:
		return false
	}
}

// longNumber matches ports, years, process ids and counts. Status and exit codes are shorter.
var longNumber = regexp.MustCompile(`[0-9]{4,}`)

// withoutNumbers removes the long numbers in a text: they differ each time.
func withoutNumbers(text string) string { return longNumber.ReplaceAllString(text, "") }
