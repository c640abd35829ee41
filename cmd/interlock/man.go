package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan writes the manual pages of all commands, for packages.
func newMan(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the manual pages", Hidden: true,
		Example: "  interlock man /usr/local/share/man/man1", Args: arguments("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("write the manual pages: %w", err)
			}
			n := 0
			if err := writeManual(cmd.Root(), args[0], &n); err != nil {
				return fmt.Errorf("write the manual pages: %w", err)
			}
			fmt.Fprintf(a.stdout, "%s in %s\n", plural(n, "manual page"), args[0])
			return nil
		},
	}
}

// writeManual writes the pages of cmd and all its subcommands.
func writeManual(cmd *cobra.Command, dir string, n *int) error {
	if cmd.Hidden {
		return nil
	}
	if err := os.WriteFile(filepath.Join(dir, pageName(cmd)+".1"), []byte(manualPage(cmd)), 0o644); err != nil {
		return err
	}
	*n++
	for _, sub := range cmd.Commands() {
		if err := writeManual(sub, dir, n); err != nil {
			return err
		}
	}
	return nil
}

// pageName returns the name of a command's page: "interlock-sensor-get".
func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manualPage returns a page in troff's man macros.
func manualPage(cmd *cobra.Command) string {
	var b strings.Builder
	name := pageName(cmd)
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q \"Interlock\"\n", strings.ToUpper(name), "interlock "+version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n%s\n", roff(cmp.Or(cmd.Long, cmd.Short)))
	cmd.InitDefaultHelpFlag()
	writeOptions(&b, "OPTIONS", cmd.NonInheritedFlags())
	writeOptions(&b, "GLOBAL OPTIONS", cmd.InheritedFlags())
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	related := cmd.Commands()
	if cmd.HasParent() {
		related = append([]*cobra.Command{cmd.Parent()}, related...)
	}
	var also []string
	for _, other := range related {
		if !other.Hidden {
			also = append(also, fmt.Sprintf(".BR %s (1)", roff(pageName(other))))
		}
	}
	if len(also) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(also, ",\n"))
	}
	return b.String()
}

func writeOptions(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR %s\n%s\n", roff(name), roff(value), roff(usage))
	})
}

// roff escapes backslashes, dashes, and lines that begin with a control character.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
