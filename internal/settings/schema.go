package settings

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/internal/document"
)

// Schema is the JSON Schema of the server's file.
func Schema() *jsonschema.Schema {
	return document.Schema(File{}, document.SchemaOptions{
		Name:        "server",
		Title:       "Interlock server",
		Description: "The server's file, interlock.yaml: where it listens, who may do what, where its state is and where alerts go.",
	})
}
