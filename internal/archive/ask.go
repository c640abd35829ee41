package archive

import (
	"context"
	"strconv"
)

// The archive talks to Postgres in text format, using pgconn alone: pgx with its type table would make the binary 2.7
// MB larger.

// yes is how Postgres writes true.
const yes = "t"

// answer is a result row, one element per column; nil is NULL. The caller knows the type of each column it selected,
// so parse errors are ignored.
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

// ask runs a query and returns its rows.
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

// one returns the first column of the first row, or "" if there is no row.
func (s *session) one(ctx context.Context, question string) (string, error) {
	said, err := s.ask(ctx, question)
	if err != nil || len(said) == 0 {
		return "", err
	}
	return said[0].text(0), nil
}

// count runs a query that returns one number.
func (s *session) count(ctx context.Context, question string) (int64, error) {
	said, err := s.one(ctx, question)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(said, 10, 64)
}

// do runs statements and discards their results.
func (s *session) do(ctx context.Context, statements string) error {
	return s.conn.Exec(ctx, statements).Close()
}

// transact runs f in one transaction. If the rollback fails, it closes the connection.
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
		_ = s.conn.Close(closing) // Postgres rolls back when the connection closes
	}
	return err
}
