// Package examples holds the projects that come with Interlock: starter is what `interlock init`
// writes, medallion is what the documentation speaks of, and broken.yaml shows what validate
// reports.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed all:starter
var files embed.FS

// Starter is a project that runs as it is.
func Starter() fs.FS {
	sub, err := fs.Sub(files, "starter")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}
