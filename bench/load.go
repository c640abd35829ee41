package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
)

const (
	loadedFiles = 1000
	loadLimit   = 2.5
)

// loadRow compares loading and checking pipeline files with only decoding them with the same YAML
// library, both on all cores.
func loadRow() (row, error) {
	sources, opts, err := loadSources()
	if err != nil {
		return row{}, err
	}
	decode := func() {
		onAllCores(len(sources), func(i int) {
			var into map[string]any
			if err := yaml.Unmarshal(sources[i].Data, &into); err != nil {
				panic(fmt.Sprintf("decode %s: %v", sources[i].File, err))
			}
		})
	}
	load := func() {
		if set := pipeline.Load(sources, opts); len(set.Definitions) != len(sources) {
			panic(fmt.Sprintf("%d of %d files loaded: %v", len(set.Definitions), len(sources), set.Problems))
		}
	}
	decoding, loading := time.Duration(1<<62), time.Duration(1<<62)
	for range 7 { // alternate, so that a slow moment of the machine hits both
		decoding = min(decoding, timed(decode))
		loading = min(loading, timed(load))
	}
	ratio := float64(loading) / float64(decoding)
	return row{
		name: fmt.Sprintf("load and check %d pipeline files / decode them", loadedFiles), ratio: ratio, limit: loadLimit,
		detail: fmt.Sprintf("%.0f µs and %.0f µs a file, %d cores", perFile(loading), perFile(decoding), runtime.GOMAXPROCS(0)),
		failed: ratio > loadLimit,
	}, nil
}

// loadSources copies the pipelines of the medallion example many times, each copy with its own ids.
func loadSources() ([]pipeline.Source, pipeline.Options, error) {
	opts := pipeline.Options{Jobs: all.Kinds(), Whole: true}
	calendars, err := readAll("examples/medallion/calendars/*.yaml")
	if err != nil {
		return nil, opts, err
	}
	archetypes, err := readAll("examples/medallion/archetypes/*.yaml")
	if err != nil {
		return nil, opts, err
	}
	opts.Calendars, opts.Archetypes = calendars, archetypes
	originals, err := readAll("examples/medallion/pipelines/*.yaml")
	if err != nil {
		return nil, opts, err
	}
	var sources []pipeline.Source
	for i := range loadedFiles {
		original := originals[i%len(originals)]
		text := rename(string(original.Data), originals, i/len(originals))
		sources = append(sources, pipeline.Source{File: fmt.Sprintf("p%d.yaml", i), Data: []byte(text)})
	}
	return sources, opts, nil
}

// rename replaces the pipeline ids of one copy of the example wherever they occur. Each example
// file is named after its pipeline's id.
func rename(text string, originals []pipeline.Source, copied int) string {
	for _, original := range originals {
		id := strings.TrimSuffix(filepath.Base(original.File), ".yaml")
		text = strings.ReplaceAll(text, id, fmt.Sprintf("%s-%d", id, copied))
	}
	return text
}

func readAll(pattern string) ([]pipeline.Source, error) {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no files match %s; run the benchmarks from the root of the repository", pattern)
	}
	var sources []pipeline.Source
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		sources = append(sources, pipeline.Source{File: name, Data: data})
	}
	return sources, nil
}

func onAllCores(n int, f func(i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
}

func timed(f func()) time.Duration {
	runtime.GC()
	start := time.Now()
	f()
	return time.Since(start)
}

func perFile(d time.Duration) float64 { return float64(d.Microseconds()) / loadedFiles }
