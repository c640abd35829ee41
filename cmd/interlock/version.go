package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// buildReport is the output of `version --format json`.
type buildReport struct {
	Version string  `json:"version"`
	Go      string  `json:"go"`
	Commit  *string `json:"commit"`
}

func newVersion(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  interlock version --format json",
		Args:    noArguments,
	}
	format := addFormat(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		return a.print(format, thisBuild(), func() { fmt.Fprintln(a.stdout, versionLine(thisBuild())) })
	}
	return cmd
}

func thisBuild() buildReport {
	return buildReport{Version: version, Go: runtime.Version(), Commit: commit()}
}

func versionLine(r buildReport) string {
	line := fmt.Sprintf("interlock %s (%s", r.Version, r.Go)
	if r.Commit != nil {
		line += ", commit " + *r.Commit
	}
	return line + ")"
}

// buildVersion returns the version set by -ldflags, or the module version if the binary was built
// by `go install …@v1.2.3`.
func buildVersion(set string, info *debug.BuildInfo, ok bool) string {
	if set != unversioned || !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return set
	}
	return info.Main.Version
}

// commit returns the commit that the binary was built from, or nil if the Go tool did not record
// it.
func commit() *string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return &setting.Value
		}
	}
	return nil
}
