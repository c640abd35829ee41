package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

const (
	firstVisitLimit = 250.0 // KB, compressed
	tracePatience   = 5 * time.Minute
)

// traced is what a browser loaded and how long it was busy, in milliseconds.
type traced struct {
	Bytes       int     // of the page and its files, compressed
	Files       int     // number of files
	Interactive float64 // scripting until the first cells are usable
	Frame       float64 // scripting per frame while scrolling, the median
	Slowest     float64 // p95 of the frames
	Frames      int
}

// traceRows traces the page in Chromium. Without a browser, Node or the page's packages it reports
// why nothing was measured.
func traceRows(binary string, all ...lanes) ([]row, error) {
	var rows []row
	for i, l := range all {
		t, why, err := trace(binary, l)
		if err != nil {
			return nil, err
		}
		if why != "" {
			return []row{{name: "timeline in Chromium", reported: true, detail: "not measured: " + why}}, nil
		}
		if kb := float64(t.Bytes) / 1024; i == 0 {
			rows = append(rows, row{
				name: "dashboard, KB of the first visit", ratio: kb, limit: firstVisitLimit, failed: kb > firstVisitLimit, detail: fmt.Sprintf("%d files, packed", t.Files),
			})
		}
		rows = append(rows,
			row{name: "timeline in Chromium, ms of scripting to interactive", ratio: t.Interactive, reported: true, detail: l.String()},
			row{name: "timeline in Chromium, ms of scripting per scroll frame", ratio: t.Frame, reported: true, detail: fmt.Sprintf("%s, p50 of %d frames; p95 %.1f", l, t.Frames, t.Slowest)},
		)
	}
	return rows, nil
}

// trace serves the lanes and loads them in a browser. If there is no browser, why says what is
// missing.
func trace(binary string, l lanes) (t traced, why string, err error) {
	s, err := start(binary, l.dir)
	if err != nil {
		return t, "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), tracePatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "web/browser/trace.mjs", "http://"+s.address)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, failed := cmd.Output()
	if err := s.stop(); err != nil {
		return t, "", err
	}
	if failed != nil {
		return t, fmt.Sprintf("%s; it needs node, chromium and `npm install` in web (%s)", failed, firstError(said.String())), nil
	}
	return t, "", json.Unmarshal(out, &t)
}

// firstError returns the line of Node's output that names the error.
func firstError(said string) string {
	for line := range strings.Lines(said) {
		if strings.Contains(line, "Error") {
			return strings.TrimSpace(line)
		}
	}
	return strings.TrimSpace(said)
}
