// Package pipeline is a pipeline's definition: its YAML file, what may stand in it, and the compiled form that
// everything else works on. Load takes the files' contents and gives compiled Definitions and every problem at its
// position; nothing here reads a disk, a clock or the network (package files reads directories).
//
// A file passes through three steps: package document decodes it strictly into File (file.go); a builder turns that,
// section by section, into a Definition (builder.go, build_*.go), with calendars (calendar.go), archetypes and the older
// traits (archetype.go, trait.go) resolved, and reports at its path what no single value shows; graph.go looks at all
// files together.
package pipeline

import "regexp"

// ID names a pipeline everywhere: in its file, in the store, in the API.
type ID string

// idPattern is what an ID may look like.
const idPattern = `^[a-z0-9]([a-z0-9._-]{0,126}[a-z0-9])?$`

var idExpr = regexp.MustCompile(idPattern)

// Valid says whether id is a legal pipeline id.
func (id ID) Valid() bool { return idExpr.MatchString(string(id)) }

// ScheduleID says what opens a pipeline's runs. It is part of a run's identity, so that a pipeline whose file changes
// from cron to a start condition does not mistake old runs for its own.
type ScheduleID string

// The schedule ids.
const (
	ByCron   ScheduleID = "cron"   // cron fires, and include dates without a start condition
	ByStream ScheduleID = "stream" // a start condition or an upstream
	ByHand   ScheduleID = "manual" // none of these: only an operator opens them
)

// Valid says whether s is one of the three.
func (s ScheduleID) Valid() bool { return s == ByCron || s == ByStream || s == ByHand }
