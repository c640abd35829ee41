package document

import (
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// Text is a string that may also be written as a number or true or false; it keeps the text of the file.
type Text string

// Strings converts texts to strings.
func Strings(texts []Text) []string {
	list := make([]string, len(texts))
	for i, t := range texts {
		list[i] = string(t)
	}
	return list
}

// DecodeNode accepts any scalar except null.
func (t *Text) DecodeNode(n Node) []Finding {
	if n.Kind() == Null || n.Kind() > String {
		return []Finding{{Message: "expected a text, found " + n.Describe()}}
	}
	*t = Text(n.Text())
	return nil
}

func (Text) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{"string", "number", "boolean"}}
}

// TextOrList is one text or a list of texts.
type TextOrList struct {
	Values []string
	IsText bool // written as one text, which is the only value
}

func (t *TextOrList) DecodeNode(n Node) []Finding {
	if n.Kind() != List {
		var text Text
		if findings := text.DecodeNode(n); len(findings) > 0 {
			return []Finding{{Message: "expected a text or a list of texts, found " + n.Describe()}}
		}
		*t = TextOrList{Values: []string{string(text)}, IsText: true}
		return nil
	}
	var findings []Finding
	read := TextOrList{Values: []string{}}
	for i, item := range n.Items() {
		var text Text
		findings = append(findings, Under(fmt.Sprintf("[%d]", i), text.DecodeNode(item))...)
		read.Values = append(read.Values, string(text))
	}
	if len(findings) == 0 {
		*t = read
	}
	return findings
}

func (TextOrList) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
		Text("").JSONSchema(),
		{Type: "array", Items: Text("").JSONSchema()},
	}}
}
