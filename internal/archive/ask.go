package archive

import (
	"context"
	"strconv"
)

// The archive speaks to Postgres in text, by pgconn alone: pgx, with its table of types, would make the binary 2.7 MB larger.

// yes is how Postgres writes true.
const yes = "t"

// answer is a row that Postgres sent, a column each; nil is NULL. What is read from it is what was asked for, so that there
// is nothing to be misread.
type answer [][]byte

func (a answer) text(i int) string { return string(a[i]) }

func (a answer) number(i int) int64 {
	n, _ := strconv.ParseInt(string(a[i]), 10, 64)
	return n
}

func (a answer) fraction(i int) float64 {
	f, _ := strconv.ParseFloat(string(a[i]), 64)
	return f
}

// ask gives the rows that a question has for an answer.
func (s *session) ask(ctx context.Context, question string, about ...string) ([]answer, error) {
	values := make([][]byte, len(about))
	for i, a := range about {
		values[i] = []byte(a)
	}
	said := s.conn.ExecParams(ctx, question, values, nil, nil, nil).Read()
	if said.Err != nil {
		return nil, said.Err
	}
	all := make([]answer, len(said.Rows))
	for i, row := range said.Rows {
		all[i] = row
	}
	return all, nil
}

// one gives the only column of the only row.
func (s *session) one(ctx context.Context, question string) (string, error) {
	said, err := s.ask(ctx, question)
	if err != nil || len(said) == 0 {
		return "", err
	}
	return said[0].text(0), nil
}

// count asks for a number.
func (s *session) count(ctx context.Context, question string) (int64, error) {
	said, err := s.one(ctx, question)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(said, 10, 64)
}

// do runs statements whose answer does not matter.
func (s *session) do(ctx context.Context, statements string) error {
	return s.conn.Exec(ctx, statements).Close()
}

// transact runs f in one transaction. If that cannot be undone, nobody uses the connection again.
func (s *session) transact(ctx context.Context, f func(context.Context) error) error {
	if err := s.do(ctx, "BEGIN"); err != nil {
		return err
	}
	err := f(ctx)
	if err == nil {
		return s.do(ctx, "COMMIT")
	}
	if undone := s.do(ctx, "ROLLBACK"); undone != nil {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		defer cancel()
		_ = s.conn.Close(closing) // Postgres undoes what a lost connection has begun
	}
	return err
}
