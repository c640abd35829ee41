package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
)

// outside is a client of the controller's HTTP API, like any source or operator.
type outside struct {
	address string
	client  *http.Client
}

func newOutside(address string) *outside {
	return &outside{address: address, client: &http.Client{Timeout: 15 * time.Second}}
}

// push writes a sensor for a period.
func (o *outside) push(ctx context.Context, who string, r reading) error {
	body := sensor.Fields{}
	for name, value := range r.fields {
		body[name] = value
	}
	body["date"] = r.period.Outer(period.Day).String()
	body["hour"], body["minute"] = r.period.Clock()
	path := fmt.Sprintf("/pipelines/%s/sensors/%s?source=%s", r.pipeline, r.key, url.QueryEscape(who))
	return o.call(ctx, http.MethodPut, path, body, nil)
}

// reading is a sensor write of a source.
type reading struct {
	pipeline pipeline.ID
	key      sensor.Key
	period   period.Period
	fields   sensor.Fields
}

// words returns the reading as the narrator shows it.
func (r reading) words(now time.Time) string {
	var fields []string
	for _, name := range slices.Sorted(maps.Keys(r.fields)) {
		fields = append(fields, fmt.Sprintf("%s=%v", name, r.fields[name]))
	}
	return fmt.Sprintf("%s of %s for %s: %s", r.key, r.pipeline, short(r.period, now), strings.Join(fields, " "))
}

// pause and resume are operator requests.
func (o *outside) pause(ctx context.Context, id pipeline.ID, who, why string) error {
	return o.call(ctx, http.MethodPost, fmt.Sprintf("/pipelines/%s/pause", id), asked{who, why}, nil)
}

func (o *outside) resume(ctx context.Context, id pipeline.ID, who, why string) error {
	return o.call(ctx, http.MethodPost, fmt.Sprintf("/pipelines/%s/resume", id), asked{who, why}, nil)
}

type asked struct {
	RequestedBy string `json:"requestedBy"`
	Reason      string `json:"reason"`
}

// gate is the API's answer about a pipeline's gate.
type gate struct {
	Open  bool       `json:"open"`
	Rules []gateRule `json:"rules"`
}

type gateRule struct {
	Key     string `json:"key"`
	Outcome string `json:"effectiveOutcome"`
	Reason  string `json:"reason"`
}

// gate requests a pipeline's gate: "may I run?".
func (o *outside) gate(ctx context.Context, id pipeline.ID, p period.Period) (gate, error) {
	var g gate
	err := o.call(ctx, http.MethodGet, fmt.Sprintf("/pipelines/%s/gate?date=%s", id, url.QueryEscape(p.String())), nil, &g)
	return g, err
}

// call makes one request and decodes its answer, unless into is nil.
func (o *outside) call(ctx context.Context, method, path string, body, into any) error {
	var text bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&text).Encode(body); err != nil {
			return fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, o.address+"/api/v1"+path, &text)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := o.client.Do(req)
	if err != nil {
		return fmt.Errorf("ask the controller: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, path, err)
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	case into == nil:
		return nil
	}
	return json.Unmarshal(answer, into)
}
