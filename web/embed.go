// Package web holds the dashboard as it was built from the sources beside it, so that building
// Interlock needs no Node. `make web` writes dist anew, and packs it; package dashboard serves it.
package web

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:generate go run ./pack dist dist.json.gz

//go:embed dist.json.gz
var packed []byte

// Files returns the files of the built dashboard by path; index.html is at its root.
func Files() (files map[string]string, err error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err == nil {
		err = json.NewDecoder(r).Decode(&files)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack the dashboard: %w", err)
	}
	return files, nil
}
