package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// maxBatch is the most readings in one request.
const maxBatch = 1000

// BatchItem is one reading of a batch.
type BatchItem struct {
	Pipeline  string          `json:"pipeline" doc:"The pipeline's id."`
	Key       string          `json:"key" doc:"The sensor's key, with #period to date the reading."`
	Data      json.RawMessage `json:"data" doc:"The reading's data: an object of at most 64 KiB."`
	Source    string          `json:"source,omitempty" doc:"The writer's name."`
	TTL       string          `json:"ttl,omitempty" doc:"How long the reading is valid, such as 2h."`
	ExpiresAt string          `json:"expiresAt,omitempty" doc:"When the reading expires, RFC 3339."`
}

// BatchWritten is the result of one reading of a batch.
type BatchWritten struct {
	Pipeline string `json:"pipeline"`
	Key      string `json:"key" doc:"The sensor's key, without the period."`
	client.Written
}

// putSensors stores many readings, all or none. The error names the first invalid one.
func (a *API) putSensors(ctx context.Context, in *batchInput) (*output[List[BatchWritten]], error) {
	who, permits := whoOf(ctx), grants{}
	items, p := in.items()
	if p != nil {
		return nil, p
	}
	writes := make([]store.Write, 0, len(items))
	var releases []func() // return what the readings took of their pipelines' limits
	defer func() {
		for _, release := range slices.Backward(releases) {
			release()
		}
	}()
	for i, item := range items {
		id := pipeline.ID(item.Pipeline)
		var write store.Write
		var release func()
		p := who.mayWrite(id)
		if p == nil {
			write, release, p = a.reading(ctx, who, permits, incoming{
				pipeline: id, key: item.Key, data: item.Data, source: item.Source, ttl: item.TTL, expiresAt: item.ExpiresAt,
			})
		}
		if p != nil {
			a.metrics.refusals.Add(float64(len(items)))
			what := p.Detail
			p.Detail = fmt.Sprintf("item %d: %s; no item of the batch was stored", i, what)
			return nil, p.at(fmt.Sprintf("body[%d]", i), what)
		}
		writes, releases = append(writes, write), append(releases, release)
	}
	puts, err := a.store.PutReadings(ctx, writes, a.now())
	if err != nil {
		return nil, fmt.Errorf("store %d readings: %w", len(writes), err)
	}
	releases = nil // the readings are stored
	a.metrics.writes.Add(float64(len(writes)))
	out := List[BatchWritten]{Items: make([]BatchWritten, len(puts))}
	for i, put := range puts {
		r := writes[i].Reading
		out.Items[i] = BatchWritten{Pipeline: string(writes[i].Pipeline), Key: string(r.Key), Written: writtenView(put, r.Period)}
		out.Items[i].Warning = a.unread(writes[i].Pipeline, r.Key)
	}
	return answer(out), nil
}

// batchInput is the body of a batch: a list, or an object whose items are the list.
type batchInput struct {
	Body json.RawMessage
}

func (in *batchInput) items() ([]BatchItem, *Problem) {
	var items []BatchItem
	strict := json.NewDecoder(bytes.NewReader(in.Body))
	strict.DisallowUnknownFields()
	var err error
	if strings.HasPrefix(strings.TrimSpace(string(in.Body)), "{") {
		var object struct {
			Items []BatchItem `json:"items"`
		}
		err = strict.Decode(&object)
		items = object.Items
	} else {
		err = strict.Decode(&items)
	}
	switch {
	case err != nil:
		return nil, badRequest("the body is not a list of readings: %s", err)
	case len(items) == 0:
		return nil, badRequest("the batch is empty; send [{pipeline, key, data}, …]")
	case len(items) > maxBatch:
		return nil, problem(http.StatusRequestEntityTooLarge, plainKind, "the batch has %d readings; at most %d are allowed", len(items), maxBatch)
	}
	return items, nil
}
