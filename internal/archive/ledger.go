package archive

import "context"

// ledger gathers rows until there are enough of them to be written at once. It writes while its user reads on.
type ledger struct {
	session *session
	waiting map[string]*rows
	count   int
	written int
	writing chan error // nil where nothing is under way
}

func newLedger(s *session) *ledger { return &ledger{session: s, waiting: map[string]*rows{}} }

// add puts a row with the others, and begins to write them if they are enough. No run may be added twice between two
// writes.
func (l *ledger) add(ctx context.Context, t table, r row) error {
	w := l.waiting[t.name]
	if w == nil {
		w = &rows{table: t}
		l.waiting[t.name] = w
	}
	w.rows = append(w.rows, r)
	if l.count++; l.count < MaxRows {
		return nil
	}
	return l.begin(ctx, rows{table: cursors})
}

// begin begins to write what there is, together with how far that is, in one transaction; what was begun before is
// written by then.
func (l *ledger) begin(ctx context.Context, places rows) error {
	if err := l.settle(); err != nil {
		return err
	}
	var all []rows
	for _, t := range tables {
		if w := l.waiting[t.name]; w != nil {
			all = append(all, *w)
		}
	}
	l.written += l.count
	l.count = 0
	clear(l.waiting)
	writing := make(chan error, 1)
	l.writing = writing
	go func() { writing <- l.session.write(ctx, append(all, places)...) }()
	return nil
}

// settle waits until what was begun is written.
func (l *ledger) settle() error {
	if l.writing == nil {
		return nil
	}
	err := <-l.writing
	l.writing = nil
	return err
}

// write stores what there is, together with how far that is.
func (l *ledger) write(ctx context.Context, places rows) error {
	if err := l.begin(ctx, places); err != nil {
		return err
	}
	return l.settle()
}
