package storetest

import (
	"time"

	"github.com/interlock-go/interlock/internal/store"
)

var noteClaims = []claim{
	{"NotesAreSwappedByVersion", notesSwapped},
	{"OfTwoWhoCreateANoteOneIsTheFirst", noteCreatedOnce},
	{"NotesOfAKindAreListedByKey", notesListed},
	{"NotesBelongToTheirHolders", notesAreCopies},
	{"NotesGoAfterTheirTime", notesGo},
}

func note(kind store.NoteKind, key, data string) store.Note {
	return store.Note{Kind: kind, Key: key, Data: []byte(data)}
}

func (f *fixture) note(kind store.NoteKind, key string) store.Note {
	f.t.Helper()
	got, err := f.s.Note(f.ctx, kind, key)
	f.check(err)
	return got
}

// keep stores a note that must not be there yet.
func (f *fixture) keep(n store.Note) {
	f.t.Helper()
	f.commit(func(b *store.Batch) { b.SwapNote(store.Note{}, n) })
}

func notesSwapped(f *fixture) {
	f.keep(note(store.ThreadNote, "a", "one"))
	f.keep(note(store.SilenceNote, "a", "of another kind"))
	first := f.note(store.ThreadNote, "a")
	f.same("version", first.Version, int64(1))
	next := first
	next.Data, next.Until = []byte("two"), after(time.Hour)
	f.commit(func(b *store.Batch) { b.SwapNote(first, next) })
	got := f.note(store.ThreadNote, "a")
	next.Version = 2
	f.same("swapped", got, next)
	f.conflicts("a stale version", noon, func(b *store.Batch) { b.SwapNote(first, note(store.ThreadNote, "a", "three")) })
	f.conflicts("one that is there", noon, func(b *store.Batch) { b.SwapNote(store.Note{}, note(store.ThreadNote, "a", "three")) })
	f.conflicts("one that is not", noon, func(b *store.Batch) { b.SwapNote(first, note(store.ThreadNote, "b", "three")) })
	f.same("after conflicts", f.note(store.ThreadNote, "a"), got)
	f.same("of another kind", string(f.note(store.SilenceNote, "a").Data), "of another kind")
	for _, nameless := range []store.Note{note("", "a", ""), note(store.ThreadNote, "", "")} {
		b := f.batch()
		b.SwapNote(store.Note{}, nameless)
		if err := f.s.Commit(f.ctx, b, noon); err == nil {
			f.t.Errorf("note %+v was taken without a name", nameless)
		}
	}
}

func noteCreatedOnce(f *fixture) {
	f.keep(note(store.ThreadNote, "a", "mine"))
	f.conflicts("the second", noon, func(b *store.Batch) {
		b.SwapNote(store.Note{}, note(store.ThreadNote, "a", "yours"))
		b.Emit(newEvent(orders, "never", noon))
	})
	f.same("the first", string(f.note(store.ThreadNote, "a").Data), "mine")
	f.same("events", len(f.everything().Events), 0)
}

func notesListed(f *fixture) {
	for _, key := range []string{"b", "a/2", "a", "c"} {
		f.keep(note(store.BurstNote, key, key))
	}
	f.keep(note(store.ThreadNote, "d", "d"))
	got, err := f.s.Notes(f.ctx, store.BurstNote)
	f.check(err)
	var keys []string
	for _, n := range got {
		f.same("data", string(n.Data), n.Key)
		keys = append(keys, n.Key)
	}
	f.same("keys", keys, []string{"a", "a/2", "b", "c"})
	got, err = f.s.Notes(f.ctx, store.SilenceNote)
	f.check(err)
	f.same("of no kind", len(got), 0)
}

func notesAreCopies(f *fixture) {
	n := note(store.ThreadNote, "a", "text")
	f.keep(n)
	n.Data[0] = 'n'
	for range 2 {
		got := f.note(store.ThreadNote, "a")
		f.same("data", string(got.Data), "text")
		got.Data[0] = 'n'
	}
}

func notesGo(f *fixture) {
	for key, until := range map[string]time.Time{"m": after(time.Hour), "n": after(time.Minute), "o": {}} {
		n := note(store.ThreadNote, key, key)
		n.Until = until
		f.keep(n)
	}
	left := func() (keys string) {
		all, err := f.s.Notes(f.ctx, store.ThreadNote)
		f.check(err)
		for _, n := range all {
			keys += n.Key
		}
		return keys
	}
	f.trimAll(store.Retention{}, after(time.Minute))
	f.same("up to its time", left(), "mno")
	f.trimAll(store.Retention{}, after(time.Minute+1))
	f.same("after it", left(), "mo")
	f.keep(note(store.ThreadNote, "n", "anew"))
	f.same("made anew", f.note(store.ThreadNote, "n").Version, int64(1))
}
