package demo

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed project
var embedded embed.FS

// files returns the project: pipelines, a calendar and the server's file.
func files() fs.FS {
	sub, err := fs.Sub(embedded, "project")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}

// Write writes the project into dir. Its jobs are processes of binary, which calls Job when its
// first argument is JobCommand.
func Write(dir, binary string) error {
	put := strings.NewReplacer(`"@interlock@"`, quoted(binary), `"@project@"`, quoted(dir))
	return fs.WalkDir(files(), ".", func(name string, entry fs.DirEntry, err error) error {
		path := filepath.Join(dir, filepath.FromSlash(name))
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return os.MkdirAll(path, 0o755)
		}
		text, err := fs.ReadFile(files(), name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(put.Replace(string(text))), 0o644); err != nil {
			return fmt.Errorf("write the demo's project: %w", err)
		}
		return nil
	})
}

// quoted quotes text for YAML, as JSON does, and escapes variables.
func quoted(text string) string {
	q, err := json.Marshal(strings.ReplaceAll(text, "${", `\${`))
	if err != nil {
		panic(err) // every text can be encoded as JSON
	}
	return string(q)
}
