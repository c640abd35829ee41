package memory

import (
	"slices"
	"sort"

	"github.com/interlock-go/interlock/internal/store/row"
)

// stored is a row, and the ID of the event that it is, if it is one.
type stored struct {
	row.Row
	event string
}

// listName names a list. Those of index byKey hold the rows of a partition by their keys, the
// others the rows of a partition, or of all if part is "", by their places.
type listName struct {
	kind       row.Kind
	index      row.Index
	part, list string
}

const byKey = row.Indexes

// list is records in the order of their keys or places.
type list []entry

type entry struct {
	at string
	*stored
}

// find returns the index of the first row that is not before a key or place.
func (l list) find(at string) int {
	return sort.Search(len(l), func(i int) bool { return l[i].at >= at })
}

func (t *table) add(r *stored) {
	r.Memo = &row.Memo{}
	t.records[r.Ref] = r
	for i := range byKey + 1 {
		r.each(i, t.insert)
	}
}

// replace gives r the contents of next, and moves it in the indexes in which its place is another.
func (t *table) replace(r *stored, next row.Row) {
	before := r.Places
	for i := range row.Indexes {
		if before[i] != next.Places[i] {
			r.each(i, t.cut)
		}
	}
	r.Row = next
	r.Memo = &row.Memo{}
	for i := range row.Indexes {
		if before[i] != next.Places[i] {
			r.each(i, t.insert)
		}
	}
}

// remove deletes a row and, if it is an event, the memory of its ID.
func (t *table) remove(r *stored) {
	delete(t.records, r.Ref)
	delete(t.eventIDs, r.event)
	for i := range byKey + 1 {
		r.each(i, t.cut)
	}
}

// each calls do for the lists of an index that r is in: that of its partition, and that of all.
func (r *stored) each(i row.Index, do func(name listName, at string, r *stored)) {
	if i == byKey {
		do(listName{kind: r.Kind, index: byKey, part: r.Part}, r.Key, r)
		return
	}
	p := r.Places[i]
	if p.List == "" {
		return
	}
	do(listName{kind: r.Kind, index: i, list: p.List}, p.Key, r)
	if r.Part != "" && i != row.Aging {
		do(listName{kind: r.Kind, index: i, part: r.Part, list: p.List}, p.Key, r)
	}
}

func (t *table) insert(name listName, at string, r *stored) {
	l := t.lists[name]
	t.lists[name] = slices.Insert(l, l.find(at), entry{at, r})
}

func (t *table) cut(name listName, at string, r *stored) {
	l := t.lists[name]
	i := l.find(at)
	for l[i].stored != r { // while a transaction moves places, two rows may have the same
		i++
	}
	if t.lists[name] = slices.Delete(l, i, i+1); len(l) == 1 {
		delete(t.lists, name)
	}
}

// loseEvents forgets the latest n events and returns them, as a failover does to a server that had
// not received them. Their positions are not used again.
func (t *table) loseEvents(n int) []row.Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	latest := t.page(row.Range{Kind: row.Events, List: string(row.Events), Backwards: true, Limit: n})
	for _, r := range latest.Rows {
		t.remove(t.records[r.Ref])
	}
	t.lastEvent += 1 << 20
	slices.Reverse(latest.Rows)
	return latest.Rows
}

// page scans a range. More is exact.
func (t *table) page(r row.Range) (page row.Page) {
	name := listName{kind: r.Kind, index: byKey, part: r.Part}
	if r.List != "" {
		name.index, name.list = r.Index, r.List
	}
	l := t.lists[name]
	if r.To != "" {
		l = l[:l.find(r.To)]
	}
	l = l[l.find(r.From):]
	page.Rows = make([]row.Row, 0, min(r.Limit, len(l)))
	for i := range l {
		if r.Backwards {
			i = len(l) - 1 - i
		}
		if slices.Contains(r.Except, l[i].Tag) {
			continue
		}
		if len(page.Rows) == r.Limit {
			page.More = true
			break
		}
		page.Rows = append(page.Rows, l[i].Row)
	}
	return page
}
