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
