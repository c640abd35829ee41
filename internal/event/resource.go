package event

import "strings"

const resourcePrefix = "interlock:event:"

// Resource is an event's id as it travels where the carrier gives events ids of its own.
func Resource(id string) string { return resourcePrefix + id }

// FromResources is the id among resources; "" if none is one.
func FromResources(resources []string) string {
	for _, r := range resources {
		if id, ok := strings.CutPrefix(r, resourcePrefix); ok {
			return id
		}
	}
	return ""
}
