package awslambdatest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/interlock-go/interlock/internal/awslambda"
)

// maxTries is how often a stream delivers a batch before it gives up: it then drops the first
// failed record and all after it.
const maxTries = 4

// streamed delivers one batch of records, and reports whether there was one.
func (w *World) streamed() bool {
	batch := w.Batch()
	if how := w.down[awslambda.StreamRouter]; len(batch) == 0 || how == Gone || how == Throttles {
		return false // Lambda counts only errors as tries
	}
	if w.drops > 0 {
		if batch = batch[:1]; w.lost(batch[0]) {
			w.Handled(1)
			return true
		}
	}
	for try := 1; ; try++ {
		n := w.deliver(w.shuffled(batch), batch)
		w.Handled(n)
		if n == len(batch) {
			return true
		}
		batch = batch[n:]
		if try == maxTries {
			w.Poison = append(w.Poison, batch...)
			w.dead["control"] += len(batch) // some of joblog: the alarms of both are alike
			w.Handled(len(batch))
			return true
		}
	}
}

// lost reports whether a record holds the change to be dropped. The reading of a producer's row is
// kept.
func (w *World) lost(text json.RawMessage) bool {
	n, err := w.Streams().Notice(read(w, text))
	if err != nil || n.Change == nil && n.Sensor == nil {
		return false
	}
	if n.Sensor != nil {
		c, err := w.Streams().PutProduced(context.Background(), *n.Sensor)
		if err != nil {
			w.Fatal(err)
		}
		if c == nil {
			return true // its change has its own record
		}
	}
	w.drops--
	return true
}

func read(t testing.TB, text json.RawMessage) awslambda.Record {
	t.Helper()
	var r awslambda.Record
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *World) shuffled(batch []json.RawMessage) []json.RawMessage {
	if w.o.Shuffle == nil {
		return batch
	}
	return w.o.Shuffle(batch)
}

// deliver calls the stream-router with records and returns how many of a batch it handled before
// the first failure.
func (w *World) deliver(records, batch []json.RawMessage) int {
	payload, err := json.Marshal(map[string]any{"Records": records})
	if err != nil {
		w.Fatal(err)
	}
	out, err := w.invoke(streamRouterARN, payload)
	w.carry()
	if err != nil {
		return 0
	}
	var answer events.DynamoDBEventResponse
	if err := json.Unmarshal(out, &answer); err != nil {
		w.Fatal(err)
	}
	failed := map[string]bool{}
	for _, f := range answer.BatchItemFailures {
		failed[f.ItemIdentifier] = true
		w.o.Wrong("stream-router", fmt.Errorf("record %s failed", f.ItemIdentifier))
	}
	for i, text := range batch {
		if failed[read(w, text).Change.Sequence] {
			return i
		}
	}
	return len(batch)
}
