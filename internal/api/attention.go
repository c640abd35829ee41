package api

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/attention"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// AttentionList lists everything that needs a person.
type AttentionList struct {
	List[client.Attention]
	At     time.Time      `json:"at" doc:"The server's time."`
	Total  int            `json:"total" doc:"Number of items on all pages."`
	Counts map[string]int `json:"counts" doc:"Number of items by code."`
}

func (a *API) listAttention(ctx context.Context, in *struct {
	Paging
	Pipeline string `query:"pipeline" doc:"Only items about this pipeline."`
},
) (*output[AttentionList], error) {
	who := whoOf(ctx)
	only, err := a.onlyPipeline(ctx, in.Pipeline)
	if err != nil {
		return nil, err
	}
	now := a.now()
	all, err := a.needs(ctx, only, now)
	if err != nil {
		return nil, err
	}
	out := AttentionList{At: now.UTC(), Counts: map[string]int{}}
	seen := slices.DeleteFunc(all, func(i attention.Item) bool { return !who.seesAbout(i.Pipeline) })
	for _, item := range seen {
		out.Counts[string(item.Kind)]++
	}
	out.Total = len(seen)
	page, err := cut(a.cursors, "attention", in.Paging, seen, attention.Item.Place, everything, attentionView)
	if err != nil {
		return nil, err
	}
	out.List = page.Body
	return answer(out), nil
}

// needs lists everything that needs a person, of one pipeline or of all.
func (a *API) needs(ctx context.Context, only pipeline.ID, now time.Time) ([]attention.Item, error) {
	return attention.List(ctx, attention.Sources{Store: a.store.records, Catalog: a.catalog}, only, now)
}

func attentionView(i attention.Item) client.Attention {
	return client.Attention{
		Code: string(i.Kind), Severity: string(i.Severity), Pipeline: text(i.Pipeline), Schedule: text(i.Schedule), Date: date(i.Period),
		Since: instant(i.Since), Reason: i.Reason.String(), Why: reasonView(i.Reason), Action: client.Action{Code: cmp.Or(i.Action.Code, "none"), Command: i.Action.Command},
	}
}

// attentions groups what needs a person by pipeline.
type attentions map[pipeline.ID][]client.Attention

func (a *API) attentions(ctx context.Context, only pipeline.ID) (attentions, error) {
	items, err := a.needs(ctx, only, a.now())
	if err != nil {
		return nil, err
	}
	out := attentions{}
	for _, item := range items {
		out[item.Pipeline] = append(out[item.Pipeline], attentionView(item))
	}
	return out, nil
}
