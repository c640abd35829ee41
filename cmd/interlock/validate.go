package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/interlock-go/interlock/internal/document"
	"github.com/interlock-go/interlock/internal/files"
	"github.com/interlock-go/interlock/internal/job/all"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/source"
)

type validateFlags struct {
	format, platform *choice
	timeLimit        string
	jobs, env        []string
	secrets, params  []string
	config           string
	folders          *folderFlags
}

func newValidate(a *app) *cobra.Command {
	var f validateFlags
	cmd := &cobra.Command{
		Use:   "validate PATH... | - | --config FILE",
		Short: "Report every mistake in pipeline, source and other files",
		Long: "Check pipeline, source, calendar, archetype and server files, and report every mistake with its position\n" +
			"and the fix. A directory is read recursively (*.yaml, *.yml) and checked as a\n" +
			"whole: an undefined name is then a mistake. - reads one file from standard input.\n" +
			"Exit code 1 if there are errors, 0 if there are none or only warnings.",
		Example: "  interlock validate pipelines/ --calendars calendars/\n" +
			"  interlock validate pipelines/ --config prod.yaml\n" +
			"  interlock validate - < orders.yaml\n" +
			"  interlock validate pipelines/ -o sarif > interlock.sarif",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && f.config == "" {
				return usagef("validate needs a PATH: a pipeline file or a directory of them")
			}
			return nil
		},
	}
	f.format, f.platform = addFormat(cmd, githubFormat, sarifFormat, junitFormat), &choice{options: []string{string(pipeline.AWS)}}
	addFilled(cmd, &f.config, "config", "a server `FILE` to check, as serve --config would read it")
	addChoice(cmd, f.platform, "platform", "", "also check the limits of that platform")
	cmd.Flags().StringSliceVar(&f.jobs, "job-types", nil, "job `TYPES` that the deployment may start (default all)")
	cmd.Flags().StringSliceVar(&f.env, "env", nil, "`NAMES` of variables that ${env:…} may read there; with --job-types")
	cmd.Flags().StringSliceVar(&f.secrets, "secrets", nil, "`ARNS` of secrets that ${secret:…} may read there; with --job-types")
	cmd.Flags().StringSliceVar(&f.params, "parameters", nil, "`ARNS` of parameters that ${ssm:…} may read there; with --job-types")
	addFilled(cmd, &f.timeLimit, "time-limit", "how long an attempt may take there (default the platform's)")
	f.folders = addFolderFlags(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return a.validate(args, f) }
	return cmd
}

func (a *app) validate(paths []string, f validateFlags) error {
	p, err := a.readGiven(paths, f)
	if err != nil {
		return err
	}
	p.opts.Platform = pipeline.Platform(f.platform.value)
	if p.opts.TimeLimit, err = f.limit(); err != nil {
		return err
	}
	if p.opts.Offers, err = f.offers(); err != nil {
		return err
	}
	p.opts.NoPrograms, p.opts.Now = p.withoutPrograms(), a.now()
	set := pipeline.Load(p.pipelines, p.opts)
	if err := p.checkSources(set, paths); err != nil {
		return err
	}
	for _, src := range p.servers {
		_, problems := settings.Parse(src.File, src.Data)
		set.Include(src, problems)
	}
	return verdict(!set.Failed(), a.writeReport(set, p, f.format.value))
}

// limit returns how long an attempt may take; 0 is the default.
func (f validateFlags) limit() (time.Duration, error) {
	if f.timeLimit == "" {
		return 0, nil
	}
	d, err := document.ParseDuration(f.timeLimit)
	switch {
	case f.platform.value == "":
		return 0, usagef("--time-limit needs --platform")
	case err != nil || d <= 0:
		return 0, usagef("--time-limit %q is not a duration; write 4h or 14400s", f.timeLimit)
	}
	return d, nil
}

// offers returns what the deployment offers; nil if no flag says so.
func (f validateFlags) offers() (*pipeline.Offers, error) {
	switch {
	case f.jobs == nil && f.env == nil && f.secrets == nil && f.params == nil:
		return nil, nil
	case f.platform.value == "":
		return nil, usagef("--job-types, --env, --secrets and --parameters need --platform")
	case f.jobs == nil:
		return nil, usagef("--env, --secrets and --parameters need --job-types")
	}
	var known []string
	for _, k := range all.Kinds() {
		known = append(known, k.Name)
	}
	for _, name := range f.jobs {
		if !slices.Contains(known, name) {
			return nil, usagef("--job-types: there is no job type %q%s", name, document.Choice(name, known))
		}
	}
	return &pipeline.Offers{Jobs: f.jobs, Env: f.env, Secrets: f.secrets, Parameters: f.params}, nil
}

// stdinName is the argument that stands for standard input, and its file name in a report.
const stdinName = "-"

// readGiven reads the files to validate.
func (a *app) readGiven(paths []string, f validateFlags) (*project, error) {
	if !slices.Contains(paths, stdinName) {
		return readProject(paths, *f.folders, f.config)
	}
	if len(paths) > 1 || f.config != "" {
		return nil, usagef("- reads one file from standard input; remove the other paths")
	}
	text, err := a.readInput("standard input", stdinName, document.MaxBytes)
	if err != nil {
		return nil, err
	}
	p := sortSources([]pipeline.Source{{File: stdinName, Data: text}})
	opts, err := f.folders.beside(".").options()
	if err != nil {
		return nil, err
	}
	p.borrowed = slices.Concat(opts.Calendars, opts.Archetypes)
	opts.Calendars, opts.Archetypes = append(opts.Calendars, p.opts.Calendars...), append(opts.Archetypes, p.opts.Archetypes...)
	p.opts = opts
	return &p, nil
}

func (a *app) writeReport(set *pipeline.Set, p *project, format string) error {
	files := p.names(set)
	switch format {
	case sarifFormat:
		return writeSARIF(a.stdout, set.Problems)
	case junitFormat:
		return writeJUnit(a.stdout, set.Problems, files)
	case jsonFormat:
		return writeJSON(a.stdout, append([]document.Problem{}, set.Problems...))
	case githubFormat:
		writeAnnotations(a.stdout, set.Problems)
		return nil
	}
	writeProblems(a.stdout, set, a.outStyle)
	paint := a.outStyle.green
	if len(set.Problems) > 0 {
		fmt.Fprintln(a.stdout)
		paint = a.outStyle.yellow
	}
	if set.Failed() {
		paint = a.outStyle.red
	}
	fmt.Fprintln(a.stdout, paint(summary(set.Problems, len(files))))
	return nil
}

// project is the files of some paths by kind.
type project struct {
	pipelines []pipeline.Source
	servers   []pipeline.Source // server files
	sources   []pipeline.Source // source files
	opts      pipeline.Options
	borrowed  []pipeline.Source // calendars and archetypes not named in paths, read because pipelines may refer to them
}

// withoutPrograms reports whether the project's server runs no programs on its machine. With
// several server files it is unknown which one the pipelines are for.
func (p *project) withoutPrograms() bool {
	if len(p.servers) != 1 {
		return false
	}
	f, _ := settings.Parse(p.servers[0].File, p.servers[0].Data)
	return f.Jobs.Command == "off"
}

func (p *project) files() int {
	return len(p.pipelines) + len(p.servers) + len(p.sources) + len(p.opts.Calendars) + len(p.opts.Archetypes)
}

// names returns the files that the report covers: those in paths, and borrowed files with problems.
func (p *project) names(set *pipeline.Set) []string {
	var names []string
	for _, src := range slices.Concat(p.pipelines, p.servers, p.sources, p.opts.Calendars, p.opts.Archetypes) {
		borrowed := slices.ContainsFunc(p.borrowed, func(b pipeline.Source) bool { return b.File == src.File })
		if !borrowed || slices.ContainsFunc(set.Problems, func(problem document.Problem) bool { return problem.File == src.File }) {
			names = append(names, src.File)
		}
	}
	slices.Sort(names)
	return names
}

// readProject reads paths and detects the kind of each file by its content. Calendars and
// archetypes also come from the folders in flags or, without flags, from a project's usual folders.
// config is a server file unless it is "".
func readProject(paths []string, flags folderFlags, config string) (*project, error) {
	sources, whole, err := readPaths(paths)
	if err != nil {
		return nil, err
	}
	server, err := readServerFile(config)
	if err != nil {
		return nil, err
	}
	found := sortSources(without(sources, server))
	found.servers = append(found.servers, server...)
	if found.files() == 0 {
		return nil, noFiles(paths...)
	}
	shelf := flags
	if len(flags.calendars) == 0 {
		shelf.calendars = usualFolders("calendars", paths, found.opts.Calendars)
	}
	if len(flags.archetypes) == 0 {
		shelf.archetypes = usualFolders("archetypes", paths, found.opts.Archetypes)
	}
	p := &project{servers: found.servers, sources: found.sources}
	if p.opts, err = shelf.options(); err != nil {
		return nil, err
	}
	p.opts.Whole = whole
	if len(flags.calendars) == 0 {
		p.borrowed = append(p.borrowed, without(p.opts.Calendars, sources)...)
	}
	if len(flags.archetypes) == 0 {
		p.borrowed = append(p.borrowed, without(p.opts.Archetypes, sources)...)
	}
	p.pipelines = without(found.pipelines, slices.Concat(p.opts.Calendars, p.opts.Archetypes))
	p.opts.Calendars = append(p.opts.Calendars, without(found.opts.Calendars, p.opts.Calendars)...)
	p.opts.Archetypes = append(p.opts.Archetypes, without(found.opts.Archetypes, p.opts.Archetypes)...)
	return p, nil
}

// checkSources adds the problems of source files to the report. Sources may write to the pipelines
// checked with them, or else to those in the folders beside them.
func (p *project) checkSources(set *pipeline.Set, paths []string) error {
	if len(p.sources) == 0 {
		return nil
	}
	opts := source.Options{Unknown: document.Warning}
	if p.opts.Whole {
		opts.Unknown = document.Error
	}
	known := set
	if len(p.pipelines) == 0 {
		beside, err := files.Read(folders("pipelines", paths...)...)
		if err != nil {
			return err
		}
		known = pipeline.Load(beside, p.opts)
	}
	names := known.Names()
	if len(names) > 0 {
		opts.Pipelines = func(id pipeline.ID) bool { return slices.Contains(names, string(id)) }
		opts.Names = func() []string { return names }
	}
	loaded := source.Load(p.sources, opts)
	for _, src := range p.sources {
		set.Include(src, slices.DeleteFunc(slices.Clone(loaded.Problems), func(problem document.Problem) bool { return problem.File != src.File }))
	}
	return nil
}

// usualFolders searches one level up only if paths contain no file of that kind. A broken calendar
// in the project's own calendars/ is checked as a calendar; calendars of another project are not
// read.
func usualFolders(name string, paths []string, found []pipeline.Source) []string {
	if len(found) > 0 {
		return foldersAt(name, "", paths)
	}
	return folders(name, paths...)
}

func sortSources(sources []pipeline.Source) project {
	var p project
	for _, src := range sources {
		switch pipeline.Classify(src) {
		case pipeline.PipelineFile:
			p.pipelines = append(p.pipelines, src)
		case pipeline.CalendarFile:
			p.opts.Calendars = append(p.opts.Calendars, src)
		case pipeline.ArchetypeFile:
			p.opts.Archetypes = append(p.opts.Archetypes, src)
		case pipeline.ServerFile:
			p.servers = append(p.servers, src)
		case pipeline.SourceFile:
			p.sources = append(p.sources, src)
		}
	}
	return p
}

// without returns the sources that are not in others, comparing absolute paths.
func without(sources, others []pipeline.Source) []pipeline.Source {
	taken := map[string]bool{}
	for _, src := range others {
		taken[absolute(src.File)] = true
	}
	return slices.DeleteFunc(slices.Clone(sources), func(src pipeline.Source) bool { return taken[absolute(src.File)] })
}

// absolute returns the absolute path, or path itself if the working directory is gone.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path)
}

// readPaths reads all paths and reports whether any is a directory. A path without any file to
// check is an error: no output would look like success.
func readPaths(paths []string) (sources []pipeline.Source, whole bool, err error) {
	for _, path := range paths {
		dir, err := files.IsDir(path)
		if err != nil {
			return nil, false, err
		}
		if !dir {
			continue
		}
		whole = true
		if inside, err := files.Read(path); err != nil {
			return nil, false, err
		} else if len(inside) == 0 {
			return nil, false, noFiles(path)
		}
	}
	sources, err = files.Read(paths...)
	return sources, whole, err
}

func readServerFile(path string) ([]pipeline.Source, error) {
	if path == "" {
		return nil, nil
	}
	if dir, err := files.IsDir(path); err != nil || dir {
		return nil, cmp.Or(err, usagef("--config %s is a directory; name the server's file", path))
	}
	return files.Read(path)
}

func noFiles(paths ...string) error {
	return fmt.Errorf("%s contains no pipeline files; they end in .yaml or .yml and start with `pipeline:`", strings.Join(paths, ", "))
}
