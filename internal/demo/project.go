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

// files is the project: pipelines, a calendar and the server's file.
func files() fs.FS {
	sub, err := fs.Sub(embedded, "project")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}

// Write puts the project into dir. Its jobs are processes of binary, which calls Job when its first argument is JobCommand.
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

// quoted is text in the quotes that YAML shares with JSON, with no variable in it for a job to fill in.
func quoted(text string) string {
	q, err := json.Marshal(strings.ReplaceAll(text, "${", `\${`))
	if err != nil {
		panic(err) // there is no text that is not JSON
	}
	return string(q)
}
