// Package pipeline is a pipeline's definition: its YAML file, what may stand in it, and the compiled form that
// everything else works on. Load takes the files' contents and gives compiled Definitions and every problem at its
// position; nothing here reads a disk, a clock or the network (package files reads directories).
//
// A file passes through three steps: package document decodes it strictly into File (file.go); a builder turns that,
// section by section, into a Definition (builder.go, build_*.go), with calendars (calendar.go), archetypes and the older
// traits (archetype.go, trait.go) resolved, and reports at its path what no single value shows; graph.go looks at all
// files together.
package pipeline
