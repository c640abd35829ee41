package pipeline

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
)

// FileKind is the kind of a YAML file in a project.
type FileKind string

// Anything that is not another kind is a pipeline file, so that its mistakes are reported as such.
const (
	PipelineFile  FileKind = "pipeline"
	CalendarFile  FileKind = "calendar"
	ArchetypeFile FileKind = "archetype"
	ServerFile    FileKind = "server"
	SourceFile    FileKind = "source"
)

// The keys that distinguish a server file of any name from a pipeline file without its pipeline
// section.
var (
	serverKeys   = []string{"listen", "tls", "callbackURL", "data", "store", "pipelines", "sources", "auth", "egress", "secrets", "engine", "watchdog", "alerts", "retention"}
	pipelineKeys = []string{"schedule", "validation", "job", "sla", "postRun", "traits", "archetype"}
)

func isServerFile(doc *document.Document) bool {
	return slices.ContainsFunc(serverKeys, doc.Has) && !slices.ContainsFunc(pipelineKeys, doc.Has)
}

// Classify determines the kind of a file from its contents, so that a whole project can be checked
// at once.
func Classify(src Source) FileKind {
	doc, _ := document.ParseOptional(src.File, src.Data) // a server file may be empty
	if src.Unread != "" || doc == nil || doc.Has("pipeline") {
		return PipelineFile
	}
	base := filepath.Base(src.File)
	switch {
	case strings.TrimSuffix(base, filepath.Ext(base)) == "interlock", isServerFile(doc):
		return ServerFile
	case doc.Has("source"):
		return SourceFile
	case !doc.Has("name"):
		return PipelineFile
	case doc.Has("probes"), doc.Has("rules"), doc.Has("parameters"), doc.Has("requiredTraits"), doc.Has("optionalTraits"):
		return ArchetypeFile
	case doc.Has("days"), doc.Has("dates"):
		return CalendarFile
	default:
		return PipelineFile
	}
}
