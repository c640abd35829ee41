// Package pipeline is a pipeline's definition: its YAML file, what may stand in it, and the compiled form that
// everything else works on. Load takes the files' contents and gives compiled Definitions and every problem at its
// position; nothing here reads a disk, a clock or the network (package files reads directories).
//
// A file passes through three steps: package document decodes it strictly into File (file.go); checks that need
// more than one value, or another file, report findings at paths (check*.go, graph.go); compile.go resolves
// defaults, calendars (calendar.go), archetypes and the older traits (archetype.go, trait.go) into a Definition.
package pipeline
