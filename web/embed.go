// Package web holds the dashboard as it was built from the sources beside it, so that building
// Interlock needs no Node. `npm run build` in this folder writes dist anew; package dashboard
// serves it.
package web

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var dist embed.FS

// Files is the built dashboard, with index.html at its root.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // only a malformed name fails, and this one is a constant
	}
	return files
}
