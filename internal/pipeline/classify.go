package pipeline

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
)

// FileKind says what a YAML file of a project is.
type FileKind int

// The kinds of files. What is nothing else is a pipeline file, so that its mistakes are reported as such.
const (
	PipelineFile FileKind = iota
	CalendarFile
	ArchetypeFile
	ServerFile
	SourceFile
)

// The keys by which a server file of any name is told from a pipeline file that lacks its pipeline.
var (
	serverKeys   = []string{"listen", "tls", "callbackURL", "data", "store", "pipelines", "sources", "auth", "egress", "secrets", "engine", "watchdog", "alerts", "retention"}
	pipelineKeys = []string{"schedule", "validation", "job", "sla", "postRun", "traits", "archetype"}
)

func isServerFile(doc *document.Document) bool {
	return slices.ContainsFunc(serverKeys, doc.Has) && !slices.ContainsFunc(pipelineKeys, doc.Has)
}

// Classify says by its contents which kind of file src is, so that a whole project can be checked at once.
func Classify(src Source) FileKind {
	doc, _ := document.ParseOptional(src.File, src.Data) // a server file need not say anything
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
