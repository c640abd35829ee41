package settings

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/interlock-go/interlock/internal/document"
)

// Data is the data directory: either a path, or a mapping of path and reserve.
type Data struct {
	Dir     string
	Reserve document.Size
}

// dataKeys is the longer form.
type dataKeys struct {
	Dir     string        `yaml:"dir" default:"./interlock-data" doc:"The directory."`
	Reserve document.Size `yaml:"reserve" default:"64MiB" doc:"Disk space reserved for deadlines and alerts while the disk is full; 0 for none."`
}

func (d *Data) DecodeNode(n document.Node) []document.Finding {
	var keys dataKeys
	if n.Kind() != document.Map {
		if n.Kind() == document.Null || n.Kind() > document.String {
			return []document.Finding{{Message: "expected a directory, or dir and reserve, found " + n.Describe()}}
		}
		document.Node{}.Decode(&keys) // sets the default of the reserve
		keys.Dir = n.Text()
	} else if findings := n.Decode(&keys); len(findings) > 0 {
		return findings
	}
	*d = Data(keys)
	return nil
}

func (Data) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, document.Fragment(dataKeys{})}}
}
