package slamonitor

import (
	"time"

	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// ArmTaskID names the task that arms the coming deadlines of a pipeline.
func ArmTaskID(id pipeline.ID) string { return "arm/" + string(id) }

// Instants are when the deadline of a period warns and breaches by the file in force; zero where there is none.
func Instants(e *catalog.Entry, p period.Period) (warn, breach time.Time) {
	if e.Schedule.Excluded(p) != "" {
		return time.Time{}, time.Time{}
	}
	at := e.SLA.For(p, e.Schedule.FireFor(p), e.Schedule)
	return at.Warn, at.Breach
}
