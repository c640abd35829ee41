// Command openapidoc writes the description of the HTTP API, made from its Go types, to the file it
// is given.
package main

import (
	"fmt"
	"os"

	"github.com/interlock-go/interlock/internal/api"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: openapidoc FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], api.OpenAPI(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
