package api

import (
	"time"

	"github.com/interlock-go/interlock/internal/reason"
)

// Reason is why something is as it is: a code for programs, a sentence, and the sentence in parts, so that a client can
// write its instants in the zone and its durations in the style that its reader prefers.
type Reason struct {
	Code  string `json:"code" doc:"Stable; the wording of the sentence is not."`
	Text  string `json:"text" doc:"The sentence, in English and UTC."`
	Parts []Part `json:"parts" doc:"The sentence in parts."`
	Also  []Part `json:"also" doc:"Parameters that the sentence does not mention, such as exitCode and lastLine."`
}

// Part is a piece of a reason.
type Part struct {
	Kind    string     `json:"kind" enum:"text,instant,duration,command" doc:"command: a command line that can be copied."`
	Name    *string    `json:"name" doc:"The parameter's name; null for the words between parameters."`
	Text    string     `json:"text" doc:"As in the sentence."`
	At      *time.Time `json:"at" doc:"Of an instant."`
	Seconds *float64   `json:"seconds" doc:"Of a duration."`
}

func reasonView(r reason.Reason) Reason {
	return Reason{Code: string(r.Code), Text: r.String(), Parts: views(r.Parts, partView), Also: views(r.Also, partView)}
}

// maybeReason is a reason, or null where there is none.
func maybeReason(r reason.Reason) Maybe[Reason] {
	if r.IsZero() {
		return Maybe[Reason]{}
	}
	return some(reasonView(r))
}

func partView(p reason.Part) Part {
	v := Part{Kind: string(p.Kind), Name: text(p.Name), Text: p.Text, At: instant(p.At)}
	if p.Kind == reason.Duration {
		v.Seconds = &p.Seconds
	}
	return v
}
