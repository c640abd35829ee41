package evaluator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/probe"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/sensor"
)

// builtin runs a built-in probe.
func (a *asking) builtin(ctx context.Context) (probe.Answer, error) {
	config, findings := a.probe.Builtin.Config(a.probe.Config)
	for _, f := range findings {
		if f.Severity != document.Warning {
			return probe.Answer{}, failure(run.Permanent, "config.%s: %s", f.Path, f.Message)
		}
	}
	switch c := config.(type) {
	case *pipeline.FileFreshnessConfig:
		if !filepath.IsAbs(c.Path) {
			c.Path = filepath.Join(a.dir, c.Path)
		}
		return inTime(ctx, func() (probe.Answer, error) { return freshness(c, time.Now()) })
	case *pipeline.HTTPStatusConfig:
		return a.status(ctx, c)
	case *pipeline.SQLConfig:
		return a.query(ctx, c)
	default:
		return probe.Answer{}, failure(run.Permanent, "this build has no builtin probe %q", a.probe.Builtin)
	}
}

// inTime returns when f does, or when ctx ends: a file system that hangs cannot be interrupted.
func inTime(ctx context.Context, f func() (probe.Answer, error)) (probe.Answer, error) {
	type result struct {
		answer probe.Answer
		err    error
	}
	done := make(chan result, 1)
	go func() {
		answer, err := f()
		done <- result{answer, err}
	}()
	select {
	case r := <-done:
		return r.answer, r.err
	case <-ctx.Done():
		return probe.Answer{}, ctx.Err()
	}
}

// found summarises the files at a path.
type found struct {
	newest time.Time
	name   string
	count  int
	bytes  int64
}

// freshness checks a file, or the files of a directory. That there are none is an answer; that they
// cannot be read is a failure.
func freshness(c *pipeline.FileFreshnessConfig, now time.Time) (probe.Answer, error) {
	f, err := findFiles(c)
	if err != nil {
		return probe.Answer{}, failure(run.Transient, "read %s: %v", c.Path, err)
	}
	answer := probe.Answer{Status: probe.Pass, Value: sensor.Fields{"count": int64(f.count), "bytes": f.bytes}}
	if f.count > 0 {
		answer.Value["newest"], answer.Value["file"] = period.Stamp(f.newest), f.name
	}
	if answer.Reason = lacks(c, f, now); answer.Reason != "" {
		answer.Status, answer.Category = probe.Fail, string(run.Transient)
	}
	return answer, nil
}

// findFiles summarises the files that the config names.
func findFiles(c *pipeline.FileFreshnessConfig) (found, error) {
	var f found
	info, err := os.Stat(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return f, err
	case !info.IsDir():
		f.add(info)
		return f, nil
	}
	entries, err := os.ReadDir(c.Path)
	if err != nil {
		return f, err
	}
	for _, entry := range entries {
		if fits, _ := filepath.Match(c.Pattern, entry.Name()); !fits || entry.IsDir() {
			continue // the pattern was validated with the pipeline file
		}
		info, err := os.Stat(filepath.Join(c.Path, entry.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted while the directory was read
		}
		if err != nil {
			return f, err
		}
		if info.Mode().IsRegular() {
			f.add(info)
		}
	}
	return f, nil
}

func (f *found) add(info fs.FileInfo) {
	f.count++
	f.bytes += info.Size()
	if f.count == 1 || info.ModTime().After(f.newest) {
		f.newest, f.name = info.ModTime(), info.Name()
	}
}

// lacks says what is missing; "" if nothing is.
func lacks(c *pipeline.FileFreshnessConfig, f found, now time.Time) string {
	switch age := now.Sub(f.newest); {
	case f.count == 0:
		return fmt.Sprintf("there is no file at %s", c.Path)
	case f.count < c.MinFiles:
		return fmt.Sprintf("found %d files, needs %d", f.count, c.MinFiles)
	case f.bytes < int64(c.MinBytes):
		return fmt.Sprintf("found %d bytes, needs %d", f.bytes, c.MinBytes)
	case c.MaxAge != nil && age > c.MaxAge.D():
		return fmt.Sprintf("the newest file, %s, is %s old; at most %s is allowed", f.name, document.Duration(age.Round(time.Second)), c.MaxAge)
	}
	return ""
}

// status sends a request and checks the status of the response. That there is no response is an
// answer too; that the egress guard blocks it is a failure.
func (a *asking) status(ctx context.Context, c *pipeline.HTTPStatusConfig) (probe.Answer, error) {
	message, err := a.message(c.Method, c.URL, c.Headers)
	if err != nil {
		return probe.Answer{}, err
	}
	began := time.Now()
	got, err := a.client.Send(ctx, message, a.probe.Timeout)
	if err != nil {
		broken := unsent(err)
		if broken.Category == run.Permanent || errors.Is(ctx.Err(), context.Canceled) {
			return probe.Answer{}, broken
		}
		if ctx.Err() != nil {
			broken = failure(run.Timeout, "no answer within the timeout of %s", document.Duration(a.probe.Timeout))
		}
		return probe.Answer{Status: probe.Fail, Value: sensor.Fields{}, Reason: a.secrets.Text(broken.Reason), Category: string(broken.Category)}, nil
	}
	answer := probe.Answer{
		Status: probe.Pass, Value: sensor.Fields{"code": int64(got.Code), "milliseconds": time.Since(began).Milliseconds()},
	}
	if !slices.Contains(c.Expect, got.Code) && (len(c.Expect) > 0 || !got.Success()) {
		status := got.Result(a.secrets)
		answer.Status, answer.Reason, answer.Category = probe.Fail, status.Message, string(status.Category)
	}
	return answer, nil
}
