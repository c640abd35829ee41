package api

import (
	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/reason"
)

func reasonView(r reason.Reason) client.Reason {
	return client.Reason{Code: string(r.Code), Text: r.String(), Parts: views(r.Parts, partView), Also: views(r.Also, partView)}
}

// maybeReason is a reason, or null where there is none.
func maybeReason(r reason.Reason) *client.Reason {
	if r.IsZero() {
		return nil
	}
	return new(reasonView(r))
}

func partView(p reason.Part) client.Part {
	v := client.Part{Kind: string(p.Kind), Name: text(p.Name), Text: p.Text, At: instant(p.At)}
	if p.Kind == reason.Duration {
		v.Seconds = &p.Seconds
	}
	return v
}
