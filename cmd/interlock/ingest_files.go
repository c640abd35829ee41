package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/interlock-go/interlock/internal/artifact"
)

// readDbtFiles reads files. In a directory it reads the files with dbt's usual names.
func readDbtFiles(paths []string) ([]artifact.File, error) {
	var files []artifact.File
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		var found []artifact.File
		if info.IsDir() {
			found, err = readTarget(path)
		} else {
			found = make([]artifact.File, 1)
			found[0], err = readArtifact(path)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	return files, nil
}

// readTarget reads the files in a target directory of dbt.
func readTarget(dir string) ([]artifact.File, error) {
	var files []artifact.File
	for _, name := range artifact.DbtFiles {
		file, err := readArtifact(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		file.Found = true
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s contains none of dbt's files (%s); run dbt first, or name its target directory", dir, strings.Join(artifact.DbtFiles, ", "))
	}
	return files, nil
}

func readArtifact(name string) (artifact.File, error) {
	data, err := os.ReadFile(name)
	return artifact.File{Name: name, Data: data}, err
}
