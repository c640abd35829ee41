package api

import (
	"context"
	"fmt"
	"time"

	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/rule"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
)

// RuleHistory is the last writes of the sensor that a rule reads, with the field that the rule
// uses.
type RuleHistory struct {
	Pipeline string         `json:"pipeline" doc:"The pipeline of the sensor."`
	Key      string         `json:"key"`
	Field    *string        `json:"field"`
	Points   []HistoryPoint `json:"points" doc:"Newest first."`
}

// HistoryPoint is one write.
type HistoryPoint struct {
	At      time.Time `json:"at"`
	Date    *string   `json:"date" doc:"The period of the reading; null if it is undated."`
	Version int64     `json:"version"`
	Source  *string   `json:"source" doc:"The writer's name, if known."`
	Value   any       `json:"value" doc:"The value of the field; null if the reading has none."`
	Deleted bool      `json:"deleted" doc:"Whether this write deleted the reading of its period."`
}

// ruleHistory returns the history of all rules of a gate in one response.
func (a *API) ruleHistory(ctx context.Context, in *struct {
	OfPipeline
	Limit int `query:"limit" minimum:"1" maximum:"200" default:"40" doc:"Maximum number of writes per sensor."`
},
) (*output[List[RuleHistory]], error) {
	e, p := a.entry(ctx, pipeline.ID(in.ID))
	if p != nil {
		return nil, p
	}
	out, who, rules := List[RuleHistory]{Items: []RuleHistory{}}, whoOf(ctx), rulesOf(e.Gate)
	for _, r := range rules {
		key, owner := sensor.Key(r.Key), e.ID
		if r.From != "" {
			owner = pipeline.ID(r.From)
		}
		if key.Engine() || !who.sees(owner) {
			continue
		}
		points, err := a.points(ctx, store.HistoryQuery{Pipeline: owner, Key: key}, r.Field, in.Limit, maxPageBytes/len(rules))
		if err != nil {
			return nil, fmt.Errorf("read history of %s of %s: %w", key, owner, err)
		}
		out.Items = append(out.Items, RuleHistory{Pipeline: string(owner), Key: r.Key, Field: text(r.Field), Points: points})
	}
	return answer(out), nil
}

// points reads the field from up to limit writes, fewer if the values are large. It keeps only the
// field in memory.
func (a *API) points(ctx context.Context, q store.HistoryQuery, field string, limit, most int) ([]HistoryPoint, error) {
	points := []HistoryPoint{}
	for bytes := 0; ; {
		q.Limit = min(pieceItems, limit-len(points))
		page, err := a.store.History(ctx, q)
		if err != nil {
			return nil, err
		}
		found := views(page.Items, pointOf(field))
		points, bytes, q.Cursor = append(points, found...), bytes+encodedSize(found), page.Next
		if q.Cursor == "" || len(points) >= limit || bytes >= most {
			return points, nil
		}
	}
}

// rulesOf lists the rules of a gate. A gate reports on all of its rules, even without any reading.
func rulesOf(g *rule.Gate) []rule.Asked {
	verdict := g.Explain(make(rule.Snapshot, len(g.Refs())), time.Time{})
	return views(verdict.Leaves, func(l rule.Leaf) rule.Asked { return *l.Rule })
}

func pointOf(field string) func(*sensor.Reading) HistoryPoint {
	return func(r *sensor.Reading) HistoryPoint {
		return HistoryPoint{At: r.UpdatedAt.UTC(), Date: date(r.Period), Version: r.Version, Source: text(r.Source), Value: r.Fields.At(field), Deleted: r.Deleted}
	}
}
