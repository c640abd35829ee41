package event

import "strings"

const resourcePrefix = "interlock:event:"

// Resource returns an event's id as a resource name, for a bus that gives events its own ids.
func Resource(id string) string { return resourcePrefix + id }

// FromResources returns the event id among resources, or "".
func FromResources(resources []string) string {
	for _, r := range resources {
		if id, ok := strings.CutPrefix(r, resourcePrefix); ok {
			return id
		}
	}
	return ""
}
