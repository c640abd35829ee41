package pipeline

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/rule"
)

// builder turns one decoded file into a definition, section by section, and collects problems.
type builder struct {
	file     *File
	doc      *document.Document
	shelf    *shelf
	def      *Definition
	broken   []string // paths at which decoding failed: consequences are not reported again
	findings []document.Finding
}

func newBuilder(e *entry, file *File, doc *document.Document, shelf *shelf) *builder {
	b := &builder{file: file, doc: doc, shelf: shelf, def: &Definition{File: e.source.File, FileSum: sha256.Sum256(e.source.Data)}}
	for _, p := range e.problems {
		if p.Path != "" {
			b.broken = append(b.broken, p.Path)
		}
	}
	return b
}

func (b *builder) build() {
	id := b.file.Pipeline
	b.def.ID, b.def.Owner, b.def.Description, b.def.Tags = id.ID, id.Owner, id.Description, id.Tags
	b.buildSchedule()
	b.buildSLA()
	added := b.buildAdditions()
	b.buildGate(added)
	b.buildJob()
	b.buildPostRun()
	b.buildDryRun()
	b.warnAboutStatuses()
	b.warnAboutUnasked()
	b.warnAboutDeadlines()
	b.warnAboutPastDates()
	b.warnAboutReports()
	b.warnAboutLateData()
	if b.shelf.platform == AWS {
		b.checkAWS()
	}
	if b.shelf.noPrograms {
		b.refusePrograms()
	}
}

// add reports findings, except those that only follow from a value that could not be decoded.
func (b *builder) add(findings ...document.Finding) {
	for _, f := range findings {
		if !b.follows(f) {
			b.findings = append(b.findings, f)
		}
	}
}

func (b *builder) follows(f document.Finding) bool {
	return slices.ContainsFunc(append(f.Also[:len(f.Also):len(f.Also)], f.Path), func(path string) bool {
		return slices.ContainsFunc(b.broken, func(broken string) bool { return document.Related(path, broken) })
	})
}

// errorf reports an error at path.
func (b *builder) errorf(path, format string, args ...any) {
	b.add(document.Finding{Path: path, Message: fmt.Sprintf(format, args...)})
}

// clashf reports a value that is wrong only together with another, and names both places.
func (b *builder) clashf(path, also, format string, args ...any) {
	b.add(document.Finding{Path: path, Also: []string{also}, Message: fmt.Sprintf(format, args...)})
}

// warnf reports something that does not reject the file.
func (b *builder) warnf(path, format string, args ...any) {
	b.add(document.Finding{Path: path, Severity: document.Warning, Message: fmt.Sprintf(format, args...)})
}

// warnClashf is warnf about a value that is doubtful only together with another.
func (b *builder) warnClashf(path, also, format string, args ...any) {
	b.add(document.Finding{Path: path, Also: []string{also}, Severity: document.Warning, Message: fmt.Sprintf(format, args...)})
}

// addUnder reports findings of the value at prefix.
func (b *builder) addUnder(prefix string, findings []document.Finding) {
	b.add(document.Under(prefix, findings)...)
}

// checkRules reports what is wrong with the rules at path, and whether they can be compiled.
func (b *builder) checkRules(path string, rules []rule.Rule) bool {
	findings := rule.Findings(rules)
	b.addUnder(path, findings)
	return !document.HasErrors(findings)
}
