// Package probe decides about evaluators: what one is asked, what its answer means as a reading, and when one that broke is
// left alone. It runs none, and stores nothing: package evaluator runs them, package prober says for which period, and
// rules decide on what they find.
package probe

import (
	"time"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
)

// Protocol is the version of what evaluators are sent.
const Protocol = 1

// Question is what an evaluator is sent, as JSON.
type Question struct {
	Protocol  int            `json:"protocol"`
	Pipeline  string         `json:"pipelineId"`
	TraitType string         `json:"traitType"` // the probe's key
	Period    string         `json:"period"`
	Config    map[string]any `json:"config"`
	Attempt   int            `json:"attempt"`  // 1, and one more for each time in a row that it broke
	Deadline  time.Time      `json:"deadline"` // when it is ended
}

// Request is one question to one probe, before it is put into words.
type Request struct {
	Pipeline pipeline.ID
	Version  string // of the pipeline, that the probe is from
	File     string // the pipeline's
	Probe    pipeline.Probe
	Period   period.Period
	Attempt  int
}

// Failure is an evaluator that broke: it gave no answer. Its reason holds no secret.
type Failure struct {
	Category run.Category
	Reason   string
}

func (f *Failure) Error() string { return f.Reason }
