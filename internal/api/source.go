package api

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/ingest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/source"
)

// Source is a source of events, and its activity.
type Source struct {
	ID          string     `json:"id"`
	Owner       string     `json:"owner"`
	Format      string     `json:"format" enum:"cloudevents,openlineage,json"`
	Description *string    `json:"description"`
	File        string     `json:"file"`
	Pipelines   []string   `json:"pipelines" doc:"The pipelines that the source writes to."`
	Matched     int64      `json:"matched" doc:"Number of events that matched."`
	Written     int64      `json:"written" doc:"Number of readings written."`
	Repeated    int64      `json:"repeated" doc:"Number of readings not written because the same event wrote them before."`
	Problems    int64      `json:"problems" doc:"Number of readings that could not be written, and of fields left out."`
	LastProblem *string    `json:"lastProblem"`
	ProblemAt   *time.Time `json:"problemAt"`
	FirstEvent  *time.Time `json:"firstEvent"`
	LastEvent   *time.Time `json:"lastEvent"`

	UsualSeconds *int64                     `json:"usualSeconds" doc:"The usual interval between events; null until there are enough events."`
	ExpectedBy   *time.Time                 `json:"expectedBy" doc:"When the next event is overdue; null until there are enough events."`
	Silence      *string                    `json:"silence" doc:"How long the source has been silent, if an event is overdue."`
	Confirmation *client.SourceConfirmation `json:"confirmation" doc:"The subscription that SNS asks to confirm; null if there is none."`
	Recent       []source.Taken             `json:"recent" doc:"The latest events that matched, newest first."`
}

// SourceList lists all sources, and the events that none of them matched.
type SourceList struct {
	List[Source]
	Rejected  []client.RejectedSource `json:"rejected" doc:"Source files with errors. If a file has an earlier good version, that version stays active and is among the items."`
	Unmatched UnmatchedEvents         `json:"unmatched" doc:"Events that matched no source, since the server started."`
}

// UnmatchedEvents counts the events that no source matched.
type UnmatchedEvents struct {
	CloudEvents int64           `json:"cloudevents"`
	OpenLineage int64           `json:"openlineage"`
	JSON        int64           `json:"json"`
	Samples     []ingest.Sample `json:"samples" doc:"Samples, newest first."`
}

func (a *API) sourceRoutes(h huma.API) {
	register(h, get("/sources", "list-sources", "Sources", "List the event sources by id, with their activity"), a.listSources)
}

func (a *API) listSources(ctx context.Context, _ *struct{}) (*output[SourceList], error) {
	activities, err := a.intake.Activities(ctx)
	if err != nil {
		return nil, err
	}
	who, out := whoOf(ctx), SourceList{}
	out.Items, out.Rejected, out.Unmatched.Samples = []Source{}, []client.RejectedSource{}, []ingest.Sample{}
	for _, d := range a.catalog.Sources().All() {
		if !a.seesSource(who, d.ID) {
			continue
		}
		out.Items = append(out.Items, sourceView(d, activities[d.ID], a.now()))
	}
	if who.unlimited() {
		out.Rejected = rejectedSources(a.catalog.Files())
		none := a.intake.Unmatched()
		out.Unmatched = UnmatchedEvents{
			CloudEvents: none.Count[source.CloudEvents], OpenLineage: none.Count[source.OpenLineage], JSON: none.Count[source.JSON],
			Samples: append([]ingest.Sample{}, none.Samples...),
		}
	}
	return answer(out), nil
}

// rejectedSources lists the source files with errors.
func rejectedSources(files []catalog.File) []client.RejectedSource {
	rejected := []client.RejectedSource{}
	for _, f := range files {
		if f.Kind == pipeline.SourceFile && f.Refused {
			rejected = append(rejected, client.RejectedSource{File: f.Name, Problems: views(f.Problems, problemView)})
		}
	}
	return rejected
}

func sourceView(d *source.Definition, a source.Activity, now time.Time) Source {
	ids, _ := d.Pipelines()
	v := Source{
		ID: string(d.ID), Owner: d.Owner, Format: string(d.Format), Description: text(d.Description), File: d.File, Pipelines: names(ids).Items,
		Matched: a.Matched, Written: a.Written, Repeated: a.Repeated, Problems: a.Problems, LastProblem: text(a.Problem), ProblemAt: instant(a.ProblemAt),
		FirstEvent: instant(a.FirstEvent), LastEvent: instant(a.LastEvent), ExpectedBy: instant(a.ExpectedBy()), Silence: text(a.Silence(d.ID, now)),
		Recent: append([]source.Taken{}, a.Recent...),
	}
	if c := a.Unconfirmed(now); c != nil {
		v.Confirmation = &client.SourceConfirmation{At: c.At, Topic: c.Topic, Message: c.Asks(), Link: c.Link}
	}
	if usual := a.Usual(); usual > 0 {
		v.UsualSeconds = seconds(usual)
	}
	return v
}

// seenProblems returns the problems of a request without those about pipelines that the client may
// not see, and about sources that write to such pipelines, unless the request names the source. A
// last problem says how many there are.
func (a *API) seenProblems(who principal, named string, all []source.EventProblem) []source.EventProblem {
	seen := make([]source.EventProblem, 0, len(all))
	for _, p := range all {
		whole := string(p.Source) == named || a.seesSource(who, p.Source)
		if p.Pipeline == "" && whole || p.Pipeline != "" && who.sees(pipeline.ID(p.Pipeline)) {
			seen = append(seen, p)
		}
	}
	if hidden := len(all) - len(seen); hidden > 0 {
		seen = append(seen, source.EventProblem{
			Source: source.ID(named), Write: -1, Message: fmt.Sprintf("nothing is written to pipelines that the token may not see (problems: %d)", hidden),
		})
	}
	return seen
}

// seesSource reports whether a client may see all pipelines that a source writes to.
func (a *API) seesSource(who principal, id source.ID) bool {
	if who.unlimited() {
		return true
	}
	d := a.catalog.Sources().Get(id)
	if d == nil {
		return false
	}
	ids, any := d.Pipelines()
	return !any && !slices.ContainsFunc(ids, func(id pipeline.ID) bool { return !who.sees(id) })
}
