package awslambda

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// mostRead is how many pipelines' sensors one pass reads. A larger deployment is read in turns.
const mostRead = 1000

// lostSensors is the name of this check in the findings of a pass.
const lostSensors = "lost-sensors"

// recoverSensors reads the producers' rows itself and acts on those whose records the stream gave up. It returns
// their number. If one pipeline cannot be read, the others still are.
func (w *Watch) recoverSensors(ctx context.Context) (int, error) {
	entries := w.inTurn(w.Now())
	var found atomic.Int64
	err := together(len(entries), lookers, func(i int) error {
		n, err := w.recoverSensorsOf(ctx, entries[i])
		found.Add(int64(n))
		if err != nil {
			return fmt.Errorf("%s: %s: %w", lostSensors, entries[i].ID, err)
		}
		return nil
	})
	return int(found.Load()), err
}

// inTurn returns the pipelines whose turn it is.
func (w *Watch) inTurn(now time.Time) []*catalog.Entry {
	all := w.Catalog.Current().All()
	if len(all) <= mostRead {
		return all
	}
	turns := (len(all) + mostRead - 1) / mostRead
	first := int(now.Unix()/int64(w.Settings.Watch.Seconds())) % turns * mostRead
	return all[first:min(first+mostRead, len(all))]
}

func (w *Watch) recoverSensorsOf(ctx context.Context, e *catalog.Entry) (int, error) {
	lost, err := w.Streams.Unread(ctx, e.ID, w.Now())
	for _, p := range lost {
		err = errors.Join(err, w.recoverSensor(ctx, p))
	}
	return len(lost), err
}

// recoverSensor stores a row as a reading and has its consumers react as to a missed one.
func (w *Watch) recoverSensor(ctx context.Context, p dynamo.Produced) error {
	c, err := w.reading(ctx, p)
	if err != nil || c == nil {
		return err
	}
	for _, reader := range w.Catalog.Current().Readers(c.Pipeline, c.Sensor) {
		err = errors.Join(err, w.router.Recover(ctx, reader.ID, *c, w.Now()))
	}
	return err
}
