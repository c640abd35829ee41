package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/store"
)

// ConfigFile is one file that the server reads, with its state and problems.
type ConfigFile struct {
	File       string               `json:"file"`
	Kind       string               `json:"kind" enum:"pipeline,calendar,archetype,source"`
	State      string               `json:"state" enum:"in force,refused,read,missing" doc:"in force: this version is active. refused: the file has errors; the last good version, if any, stays active. read: a calendar or archetype that pipelines use. missing: the file can no longer be read; the active version stays active."`
	Pipeline   *string              `json:"pipeline" doc:"The pipeline in the file; null if unknown."`
	Version    *string              `json:"version" doc:"The active version of the pipeline or source, which is its last good one."`
	AcceptedAt *time.Time           `json:"acceptedAt" doc:"When the active version was accepted."`
	Problems   []client.FileProblem `json:"problems" doc:"Errors and warnings in file order."`
}

func (a *API) listFiles(ctx context.Context, in *Paging) (*output[List[ConfigFile]], error) {
	rows, err := a.store.Pipelines(ctx)
	if err != nil {
		return nil, fmt.Errorf("read pipelines: %w", err)
	}
	byID := make(map[pipeline.ID]store.Pipeline, len(rows))
	for _, row := range rows {
		byID[row.ID] = row
	}
	who := whoOf(ctx)
	return cut(a.cursors, "files", *in, a.catalog.Files(), func(f catalog.File) string { return f.Name },
		func(f catalog.File) bool { return who.seesAbout(f.Pipeline) }, func(f catalog.File) ConfigFile { return fileView(f, byID[f.Pipeline]) })
}

// acceptRemoval removes the pipelines whose files disappeared all at once.
func (a *API) acceptRemoval(ctx context.Context, in *struct{ Body *client.Asked }) (*output[List[string]], error) {
	if p := forAll(ctx); p != nil {
		return nil, p
	}
	ids, err := a.acceptance(ctx, askedBy(ctx, in.Body), askedWhy(in.Body), a.now())
	if errors.Is(err, catalog.ErrNothingLost) {
		return nil, problem(http.StatusConflict, refused, "%v; with several replicas, use the one that reports it", err)
	}
	if err != nil {
		return nil, fmt.Errorf("accept the removal of pipelines: %w", err)
	}
	return answer(names(ids)), nil
}

func problemView(p document.Problem) client.FileProblem {
	return client.FileProblem{Line: p.Line, Column: p.Column, Path: p.Path, Message: p.Message, Severity: string(p.Severity)}
}

func fileView(f catalog.File, row store.Pipeline) ConfigFile {
	v := ConfigFile{
		File: f.Name, Kind: string(f.Kind), State: "in force", Pipeline: text(f.Pipeline), Version: text(row.Config), AcceptedAt: instant(row.AcceptedAt),
		Problems: views(f.Problems, problemView),
	}
	if f.Kind == pipeline.SourceFile {
		v.Version, v.AcceptedAt = text(f.Version), instant(f.Accepted)
	}
	switch {
	case f.Missing != "":
		v.State = "missing"
		v.Problems = append(v.Problems, client.FileProblem{Line: 1, Column: 1, Message: f.Missing, Severity: string(document.Error)})
	case f.Refused:
		v.State = "refused"
	case f.Kind != pipeline.PipelineFile && f.Kind != pipeline.SourceFile:
		v.State = "read"
	}
	return v
}
