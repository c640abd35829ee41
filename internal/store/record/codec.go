package record

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// encode writes a record as the body of a row.
func encode(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("write %T as JSON: %w", v, err)
	}
	return body, nil
}

// decode reads the record of a row.
func decode[T any](r row.Row) (T, error) {
	if known, ok := r.Memo.Load().(T); ok {
		return known, nil
	}
	return unmarshal[T](r)
}

const damaged = "a stored record is damaged and cannot be read; the server's log names it; " +
	"restore a backup of the store, or, if the store is the embedded one, run interlock check, which lists the damage, and interlock repair"

func unmarshal[T any](r row.Row) (v T, err error) {
	if err := json.Unmarshal(r.Body, &v); err != nil {
		return v, &store.Fault{Kind: store.Damaged, Remedy: damaged, Err: fmt.Errorf("read stored %s: %w", r.Ref, err)}
	}
	if independent(v) {
		r.Memo.Store(v)
	}
	return v, nil
}

// independent reports whether copies of v share no mutable data, so that several callers may use
// the same decoded value.
func independent(v any) bool {
	switch v.(type) {
	case run.Run, task, store.Deadline, reading:
		return true
	default:
		return false
	}
}

// decodeAll reads the records of rows.
func decodeAll[T any](rows []row.Row) ([]T, error) { return readRows(rows, decode[T]) }

// readRows reads every row with read.
func readRows[T any](rows []row.Row, read func(row.Row) (T, error)) ([]T, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	all := make([]T, len(rows))
	for i, r := range rows {
		var err error
		if all[i], err = read(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// getAll reads the records of ids in one call. Those that do not exist are left out.
func getAll[K comparable, T any](ctx context.Context, s *Store, ids []K, ref func(K) row.Ref, read func(row.Row) (T, error)) (map[K]T, error) {
	refs := make([]row.Ref, len(ids))
	for i, id := range ids {
		refs[i] = ref(id)
	}
	rows, err := s.engine.Get(ctx, refs)
	if err != nil {
		return nil, err
	}
	found := map[K]T{}
	for i, r := range rows {
		if r.Version == 0 {
			continue
		}
		if found[ids[i]], err = read(r); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// find reads one record; store.ErrNotFound if there is none. what names it in errors.
func find[T any](ctx context.Context, s *Store, ref row.Ref, what string, args ...any) (v T, err error) {
	r, err := s.get(ctx, ref)
	if err == nil && r.Version == 0 {
		err = store.ErrNotFound
	}
	if err == nil {
		v, err = decode[T](r)
	}
	return v, wrap(err, "read "+what, args...)
}

// list reads a page of the records for which wanted returns true.
func list[T any](ctx context.Context, s *Store, r row.Range, limit int, read func(row.Row) (T, error), wanted func(T) bool, cursor func(T) string) (store.Page[T], error) {
	r.Limit = store.PageSize(limit) + 1
	var found []T
	err := s.eachPage(ctx, []row.Range{r}, func(_ int, rows []row.Row) (bool, error) {
		for _, one := range rows {
			v, err := read(one)
			if err != nil {
				return false, err
			}
			if wanted(v) {
				found = append(found, v)
			}
		}
		return len(found) < r.Limit, nil
	})
	if err != nil {
		return store.Page[T]{}, err
	}
	return store.FirstPage(found, limit, cursor), nil
}
