package sqlite

import (
	"context"

	"github.com/interlock-go/interlock/internal/store/record"
)

// Store is the store of an open data directory.
type Store struct {
	*record.Store
	engine *Engine
}

// Open opens the store of a data directory: see OpenEngine.
func Open(ctx context.Context, dir string, o Options) (*Store, error) {
	e, err := OpenEngine(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	return &Store{record.New(e, record.Options{}), e}, nil
}

// Backup writes a copy of the database to path: see Engine.Backup.
func (s *Store) Backup(ctx context.Context, path string) error { return s.engine.Backup(ctx, path) }

// Trouble returns why the store accepts no external changes: see Engine.Trouble.
func (s *Store) Trouble() error { return s.engine.Trouble() }

// Probe tests whether the store accepts changes: see Engine.Probe.
func (s *Store) Probe(ctx context.Context) error { return s.engine.Probe(ctx) }
