package source

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/interlock-go/interlock/internal/period"
	"github.com/interlock-go/interlock/internal/sensor"
)

// MaxEvent is the maximum size in bytes of one event, or a batch of them.
const MaxEvent = 8 << 20

// MaxDepth is how many levels of objects and lists an event may have; the event itself is the
// first.
const MaxDepth = 100

const (
	// MaxValues is how many objects, lists, texts and other values an event, or a batch of them, may
	// have.
	MaxValues = 100_000
	// MaxNested is how many values the texts of an event may have that are decoded as JSON.
	MaxNested = 25_000
)

// bounds limits one event: the lineage of a large job is longer and deeper than any reading.
var bounds = sensor.Bounds{Bytes: MaxEvent, Depth: MaxDepth, Values: MaxValues}

// DecodeEvent decodes one event, which is a JSON object.
func DecodeEvent(body []byte) (map[string]any, error) {
	event, err := sensor.DecodeObject(body, bounds)
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	return event, nil
}

// DecodeEvents decodes a list of events. An error names the first malformed one.
func DecodeEvents(body []byte) ([]map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if open, err := d.Token(); err != nil || open != json.Delim('[') {
		return nil, errors.New("batch: the body is not a JSON list of events")
	}
	events := []map[string]any{}
	for d.More() {
		event, err := nextEvent(d)
		if err != nil {
			return nil, fmt.Errorf("event %d of the batch: %w", len(events), err)
		}
		events = append(events, event)
	}
	if _, err := d.Token(); err != nil {
		return nil, notJSON(d, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("batch: unexpected data after the list of events")
	}
	return events, nil
}

// nextEvent decodes the next event of a list.
func nextEvent(d *json.Decoder) (map[string]any, error) {
	var text json.RawMessage
	if err := d.Decode(&text); err != nil {
		return nil, notJSON(d, err)
	}
	if !bytes.HasPrefix(text, []byte("{")) {
		return nil, errors.New("it is not a JSON object")
	}
	return sensor.DecodeObject(text, sensor.Bounds{Bytes: bounds.Bytes, Depth: bounds.Depth - 1, Values: bounds.Values}) // the list is a level too
}

// notJSON returns the error for a list that d cannot read on.
func notJSON(d *json.Decoder, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("data is not JSON: it ends in the middle")
	}
	return fmt.Errorf("data is not JSON: at byte %d: %w", d.InputOffset(), err)
}

// BinaryEvent builds an event from its attributes, given by the ce-NAME headers, and its data.
func BinaryEvent(attributes map[string]string, contentType string, data []byte) (map[string]any, error) {
	event := make(map[string]any, len(attributes)+2)
	for name, value := range attributes {
		if name == "datacontenttype" || name == "data" || name == "data_base64" {
			return nil, fmt.Errorf("header ce-%s: not allowed in binary mode, where the body is the data and Content-Type its type", name)
		}
		text, err := unescape(value)
		if err != nil {
			return nil, fmt.Errorf("header ce-%s: %w", name, err)
		}
		event[name] = text
	}
	if contentType != "" {
		event["datacontenttype"] = contentType
	}
	if len(data) > 0 {
		if err := setData(event, contentType, data, MaxValues); err != nil {
			return nil, err
		}
	}
	return event, CheckCloudEvent(event)
}

// unescape decodes a header's value: quoted strings, which clients of older versions of the
// specification send, and then characters that are percent-encoded because a header cannot hold
// them.
func unescape(value string) (string, error) {
	value = unquote(value)
	if !strings.Contains(value, "%") {
		return value, nil
	}
	text, err := url.PathUnescape(value)
	if err != nil || !utf8.ValidString(text) {
		return "", fmt.Errorf("%.100q is not percent-encoded UTF-8", value)
	}
	return text, nil
}

// unquote replaces each quoted string (RFC 9110, section 5.6.4) with its content. A quote that is
// not closed stays.
func unquote(value string) string {
	if strings.Count(value, `"`) < 2 {
		return value
	}
	var out, quoted strings.Builder
	inside := false
	for i := 0; i < len(value); i++ {
		c := value[i]
		switch {
		case c == '"':
			if inside {
				out.WriteString(quoted.String())
				quoted.Reset()
			}
			inside = !inside
		case inside && c == '\\' && i+1 < len(value):
			i++
			quoted.WriteByte(value[i])
		case inside:
			quoted.WriteByte(c)
		default:
			out.WriteByte(c)
		}
	}
	if inside {
		return value
	}
	return out.String()
}

// setData adds the data: JSON as it is, other text as a string, and everything else as data_base64.
// JSON may have at most this many values.
func setData(event map[string]any, contentType string, data []byte, values int) error {
	switch {
	case IsJSON(contentType):
		value, err := decodeJSON(data, values)
		if err != nil {
			return fmt.Errorf("datacontenttype is JSON, but attribute data is not: %w", err)
		}
		event["data"] = value
	case utf8.Valid(data):
		event["data"] = string(data)
	default:
		event["data_base64"] = base64.StdEncoding.EncodeToString(data)
	}
	return nil
}

// decodeJSON decodes data that may be any JSON value, and has at most this many values.
// DecodeObject decodes objects only, so it wraps the value in one.
func decodeJSON(data []byte, values int) (any, error) {
	wrapped := append(append([]byte(`{"data":`), data...), '}')
	object, err := sensor.DecodeObject(wrapped, sensor.Bounds{Bytes: bounds.Bytes + len(wrapped) - len(data), Depth: bounds.Depth + 1, Values: values})
	if err == nil && len(object) != 1 {
		err = errors.New("unexpected data after the JSON value")
	}
	return object["data"], err
}

// IsJSON reports whether a media type is JSON; an empty one counts as JSON.
func IsJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json"))
}

// CheckCloudEvent returns an error that names the attribute if an event is not a CloudEvent 1.0 in
// JSON. It decodes base64 data whose type is JSON.
func CheckCloudEvent(event map[string]any) error {
	for _, name := range []string{"specversion", "id", "source", "type"} {
		if event[name] == nil {
			return fmt.Errorf("attribute %s is missing; CloudEvents requires specversion, id, source and type", name)
		}
		if err := checkText("attribute", name, event[name]); err != nil {
			return err
		}
	}
	if event["specversion"] != "1.0" {
		return fmt.Errorf("attribute specversion is %.40q; only 1.0 is supported", event["specversion"])
	}
	text, _ := event["source"].(string)
	if _, err := url.Parse(text); err != nil {
		return fmt.Errorf("attribute source: %.100q is not a URI reference", text)
	}
	for name, value := range event {
		if err := checkAttribute(name, value); err != nil {
			return err
		}
	}
	return decodeBase64(event)
}

func checkText(kind, name string, value any) error {
	if text, _ := value.(string); text == "" {
		return fmt.Errorf("%s %s must be a text that is not empty", kind, name)
	}
	return nil
}

// checkAttribute checks optional attributes and extensions.
func checkAttribute(name string, value any) error {
	if name == "data" || name == "data_base64" || value == nil {
		return nil
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
		return fmt.Errorf("attribute %.60q: names may contain only lower-case letters and digits", name)
	}
	text, isText := value.(string)
	switch name {
	case "time":
		if _, ok := period.ParseInstant(text); !isText || !ok {
			return fmt.Errorf("attribute time: %s is not RFC 3339, such as 2026-03-03T10:00:00Z", sensor.Literal(value))
		}
	case "subject", "datacontenttype", "dataschema":
		return checkText("attribute", name, value)
	default:
		switch value.(type) {
		case map[string]any, []any, float64:
			return fmt.Errorf("attribute %s must be a string, an integer, true or false", name)
		}
	}
	return nil
}

// decodeBase64 replaces base64 data with its decoded value if that is JSON or text.
func decodeBase64(event map[string]any) error {
	encoded, given := event["data_base64"]
	if !given || encoded == nil {
		return nil
	}
	if _, both := event["data"]; both {
		return errors.New("attributes data and data_base64: an event may have only one of them")
	}
	text, ok := encoded.(string)
	data, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		return errors.New("attribute data_base64 is not base64")
	}
	contentType, _ := event["datacontenttype"].(string)
	if contentType == "" || !IsJSON(contentType) && !utf8.Valid(data) {
		return nil // of unknown type, or not text
	}
	if err := setData(event, contentType, data, MaxNested); err != nil {
		return err
	}
	delete(event, "data_base64")
	return nil
}
