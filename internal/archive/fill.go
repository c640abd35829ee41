package archive

import (
	"context"
	"time"
)

// fill copies everything in the store except events, which have their own cursor.
func (p *pass) fill(ctx context.Context) error {
	if err := p.sweep(ctx); err != nil {
		return err
	}
	if err := p.allReadings(ctx); err != nil {
		return err
	}
	if err := p.ledger.write(done(filledCursor, p.now)); err != nil {
		return err
	}
	p.archiver.cover(covered{filled: true, swept: p.now})
	return nil
}

// sweepIfDue sweeps all runs if the last sweep is too long ago.
func (p *pass) sweepIfDue(ctx context.Context, justDone bool, last time.Time) error {
	if justDone || p.now.Sub(last) < sweepEvery && !last.After(p.now) {
		return nil
	}
	if err := p.sweep(ctx); err != nil {
		return err
	}
	p.archiver.cover(covered{filled: true, swept: p.now})
	return nil
}
