package record

import (
	"maps"
	"slices"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// mark is the mark of a write, the call that set it, and its stored version.
type mark struct {
	store.Mark
	by      *call // nil: it was already set, or is not set
	version int64
	checked bool // a write depends on its not being set
}

// markRefs lists the rows of the marks of writes, without duplicates.
func markRefs(writes []*reading) []row.Ref {
	var refs []row.Ref
	seen := map[string]bool{}
	for _, w := range writes {
		if id := w.once.ID; id != "" && !seen[id] {
			seen[id] = true
			refs = append(refs, refMark(id))
		}
	}
	return refs
}

// readMarks records the marks that are set. For an expired mark it records only the version.
func (k *intake) readMarks(rows []row.Row, writes []*reading) error {
	if len(rows) == 0 {
		return nil
	}
	k.marks = map[string]mark{}
	now := writes[0].UpdatedAt
	for _, r := range rows {
		if r.Version == 0 {
			continue
		}
		stored, err := decode[store.Mark](r)
		if err != nil {
			return err
		}
		if !stored.Until.IsZero() && !stored.Until.After(now) {
			stored.ID = ""
		} else {
			stored.ID = r.Key
		}
		k.marks[r.Key] = mark{Mark: stored, version: r.Version}
	}
	return nil
}

// mark sets the mark of a write. It returns false if another call has set it before, and ErrMarked
// if that call set it for something else.
func (k *intake) mark(next reading) (bool, error) {
	if next.once.ID == "" {
		return true, nil
	}
	m := k.marks[next.once.ID]
	switch {
	case next.once.Rank == store.Unmarked:
		if m.ID == "" {
			k.marks[next.once.ID] = mark{version: m.version, checked: true}
		}
		return m.ID == "", nil
	case next.once.Rank > 0:
		if m.ID != "" && m.Rank > next.once.Rank {
			return false, nil
		}
		k.marks[next.once.ID] = mark{Mark: next.once, by: next.call, version: m.version}
		return true, nil
	case m.ID == "":
		k.marks[next.once.ID] = mark{Mark: next.once, by: next.call, version: m.version}
		return true, nil
	case m.by != next.call && m.Of != next.once.Of:
		return false, store.ErrMarked
	}
	return m.by == next.call, nil
}

// markOps returns the ops that store the marks set here, and those that check the marks that must
// not be set.
func (k *intake) markOps() ([]row.Op, error) {
	var ops []row.Op
	for _, id := range slices.Sorted(maps.Keys(k.marks)) {
		m := k.marks[id]
		if m.by == nil {
			if m.checked {
				ops = append(ops, row.Op{Do: row.Check, If: m.version, Row: row.Row{Ref: refMark(id)}})
			}
			continue
		}
		body, err := encode(m.Mark)
		if err != nil {
			return nil, err
		}
		r := row.Row{Ref: refMark(id), Version: m.version + 1, Body: body}
		expiring(&r, m.Until)
		ops = append(ops, row.Op{If: m.version, Row: r})
	}
	return ops, nil
}
