package main

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/interlock-go/interlock/internal/document"
)

// sarifLog is a SARIF 2.1.0 log, which code scanning services read.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Results []sarifResult `json:"results"`
}

type sarifDriver struct {
	Name           string      `json:"name"`
	Version        string      `json:"version"`
	InformationURI string      `json:"informationUri"`
	Rules          []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID               string    `json:"id"`
	ShortDescription sarifText `json:"shortDescription"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	RuleID    string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	} `json:"physicalLocation"`
}

type sarifRegion struct {
	StartLine   int `json:"startLine"`
	StartColumn int `json:"startColumn,omitempty"`
}

const homepage = "https://github.com/interlock-go/interlock"

// writeSARIF prints problems as a SARIF log.
func writeSARIF(w io.Writer, problems []document.Problem) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{
		Name: "interlock", Version: version, InformationURI: homepage,
		Rules: []sarifRule{
			{ID: ruleOf(document.Error), ShortDescription: sarifText{"The server rejects the file."}},
			{ID: ruleOf(document.Warning), ShortDescription: sarifText{"The server accepts the file, but it probably contains a mistake."}},
		},
	}
	for _, p := range problems {
		var place sarifLocation
		place.Physical.Artifact.URI = fileURI(p.File)
		if p.Line > 0 {
			place.Physical.Region = &sarifRegion{StartLine: p.Line, StartColumn: p.Column}
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: ruleOf(p.Severity), Level: string(p.Severity), Message: sarifText{problemText(p)}, Locations: []sarifLocation{place},
		})
	}
	return writeJSON(w, sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func ruleOf(s document.Severity) string { return "interlock/" + string(s) }

// fileURI returns a relative URI reference for a local path.
func fileURI(name string) string {
	return (&url.URL{Path: filepath.ToSlash(name)}).String()
}

// problemText formats a problem without its position.
func problemText(p document.Problem) string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// junitSuites is a JUnit report, which CI services show as tests: one per file.
type junitSuites struct {
	XMLName xml.Name   `xml:"testsuites"`
	Suite   junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
	Output  string        `xml:"system-out,omitempty"` // the file's warnings
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit prints one test per file, with errors as failures.
func writeJUnit(w io.Writer, problems []document.Problem, files []string) error {
	suite := junitSuite{Name: "interlock validate"}
	byFile := map[string][]document.Problem{}
	for _, p := range problems {
		byFile[p.File] = append(byFile[p.File], p)
	}
	for _, file := range files {
		c := junitCase{Name: file, Class: "interlock.validate"}
		var errs, warnings []string
		for _, p := range byFile[file] {
			line := problemLine(p, style{})
			if p.Severity == document.Warning {
				warnings = append(warnings, line)
			} else {
				errs = append(errs, line)
			}
		}
		if len(errs) > 0 {
			c.Failure = &junitFailure{Message: plural(len(errs), "error"), Text: strings.Join(errs, "\n")}
			suite.Failures++
		}
		c.Output = strings.Join(warnings, "\n")
		suite.Cases = append(suite.Cases, c)
	}
	suite.Tests = len(suite.Cases)
	text, err := xml.MarshalIndent(junitSuites{Suite: suite}, "", "  ")
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	fmt.Fprintf(w, "%s%s\n", xml.Header, text)
	return nil
}
