package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"
	"time"
)

const (
	firstFew, firstMany = 1000, 10_000
	firstGrowth         = 13.0
)

// firstRow compares the processor time of a first start on many new files, until the program is ready,
// with that on a tenth of them.
func firstRow() (row, error) { return withProgram(firstRowWith) }

func firstRowWith(dir, binary string) (row, error) {
	few, _, err := firstStart(binary, filepath.Join(dir, "few"), firstFew)
	if err != nil {
		return row{}, err
	}
	many, took, err := firstStart(binary, filepath.Join(dir, "many"), firstMany)
	if err != nil {
		return row{}, err
	}
	ratio := float64(many) / float64(few)
	return row{
		name: fmt.Sprintf("first start, %d files / %d", firstMany, firstFew), ratio: ratio, limit: firstGrowth, failed: ratio > firstGrowth,
		detail: fmt.Sprintf("%.0f files a CPU second; ready after %s", firstMany/many.Seconds(), took.Round(100*time.Millisecond)),
	}, nil
}

// firstStart starts the program on new files, and returns the processor time until it listens, and
// how long that took.
func firstStart(binary, dir string, files int) (used, took time.Duration, err error) {
	if err := writeFiles(filepath.Join(dir, "pipelines"), files); err != nil {
		return 0, 0, err
	}
	began := time.Now()
	s, err := start(binary, dir)
	if err != nil {
		return 0, 0, err
	}
	took = time.Since(began)
	if err := s.stop(); err != nil {
		return 0, 0, err
	}
	usage, ok := s.cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, 0, errors.New("the system does not say how much processor time the program used")
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), took, nil
}
