package artifact

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// dbtMetadata is the head of each file of dbt.
type dbtMetadata struct {
	Schema       string  `json:"dbt_schema_version"`
	GeneratedAt  string  `json:"generated_at"`
	InvocationID *string `json:"invocation_id"`
}

// dbtFile is what run_results.json, sources.json and freshness.json have in common. Only
// run_results.json has the arguments of the command.
type dbtFile struct {
	Metadata *dbtMetadata `json:"metadata"`
	Results  *[]dbtResult `json:"results"`
	Args     struct {
		Which string `json:"which"`
	} `json:"args"`
}

type dbtResult struct {
	UniqueID      string   `json:"unique_id"`
	Status        string   `json:"status"`
	Error         any      `json:"error"`
	Failures      *float64 `json:"failures"`
	ExecutionTime *float64 `json:"execution_time"`
	MaxLoadedAt   *string  `json:"max_loaded_at"`
	Age           *float64 `json:"max_loaded_at_time_ago_in_s"`
}

// dbtManifest has the names of nodes.
type dbtManifest struct {
	Nodes map[string]struct {
		Name    string `json:"name"`
		Version any    `json:"version"`
	} `json:"nodes"`
}

// dbtVersions are the versions of each file that are understood.
var dbtVersions = map[string][]string{"run-results": {"v4", "v5", "v6"}, "sources": {"v3"}, "freshness": {"v0"}}

// DbtFiles are the files that dbt writes to its target directory and that are read.
var DbtFiles = []string{"run_results.json", "sources.json", "freshness.json", "manifest.json"}

// dbtRuns are the commands of dbt that run nodes. Others, such as compile and docs generate, write
// a run_results.json too, in which every node is a success although none ran.
var dbtRuns = []string{"build", "run", "test", "seed", "snapshot", "retry", "run-operation"}

// Dbt reads files of dbt: run_results.json, sources.json, freshness.json, in any order, and a
// manifest.json for the names of nodes. Each file states its own kind. A file that is too old is
// an error if the user named it, and a warning if it was found in a directory.
func Dbt(files []File, limits Limits) (*Result, error) {
	out := &Result{}
	names, err := readManifests(files)
	if err != nil {
		return nil, err
	}
	read := map[string]string{} // the file of each kind
	for _, f := range files {
		kind, at, err := dbtKind(f)
		if err != nil {
			return nil, err
		}
		if kind == "manifest" {
			continue
		}
		if old := limits.tooOld(f.Name, at); old != "" {
			if !f.Found {
				return nil, rejected("%s", old)
			}
			out.Warnings = append(out.Warnings, old)
			continue
		}
		if other, twice := read[kind]; twice {
			return nil, fmt.Errorf("%s and %s are both %s of dbt, and would overwrite each other's readings; ingest them one after the other", other, f.Name, kind)
		}
		read[kind] = f.Name
		if err := out.dbt(f, kind, names); err != nil {
			return nil, err
		}
	}
	if len(read) == 0 {
		return nil, nothingRead(files, out.Warnings)
	}
	out.keepWorst()
	return out, nil
}

// nothingRead is the error if no file counts: all are too old, or there is none.
func nothingRead(files []File, tooOld []string) error {
	if len(tooOld) > 0 {
		return rejected("%s", strings.Join(tooOld, "\n"))
	}
	all := make([]string, len(files))
	for i, f := range files {
		all[i] = f.Name
	}
	return fmt.Errorf("there is no run_results.json, sources.json or freshness.json among the files: %s", strings.Join(all, ", "))
}

// dbtKind says which of its files dbt made, and when. The instant is zero if the file does not say.
func dbtKind(f File) (kind string, at time.Time, err error) {
	var head struct {
		Metadata *dbtMetadata `json:"metadata"`
	}
	if err := decode(f, &head); err != nil {
		return "", at, err
	}
	if head.Metadata == nil || head.Metadata.Schema == "" {
		return "", at, missing(f, "metadata.dbt_schema_version")
	}
	// https://schemas.getdbt.com/dbt/run-results/v6.json
	version := strings.TrimSuffix(path.Base(head.Metadata.Schema), ".json")
	kind = path.Base(path.Dir(head.Metadata.Schema))
	known, ok := dbtVersions[kind]
	switch {
	case kind == "manifest":
	case !ok:
		return "", at, fmt.Errorf("%s: field metadata.dbt_schema_version: %q is not supported; use run_results.json, sources.json or freshness.json", f.Name, head.Metadata.Schema)
	case !slices.Contains(known, version):
		return "", at, fmt.Errorf("%s: field metadata.dbt_schema_version: %s %s is not supported; supported are %s", f.Name, kind, version, strings.Join(known, ", "))
	}
	return kind, instant(head.Metadata.GeneratedAt), nil
}

// readManifests returns the names of the nodes in the manifests among files.
func readManifests(files []File) (map[string]string, error) {
	names := map[string]string{}
	for _, f := range files {
		kind, _, err := dbtKind(f)
		if err != nil {
			return nil, err
		}
		if kind != "manifest" {
			continue
		}
		var m dbtManifest
		if err := decode(f, &m); err != nil {
			return nil, err
		}
		for id, node := range m.Nodes {
			if node.Name == "" {
				continue
			}
			names[id] = node.Name
			if node.Version != nil {
				names[id] += fmt.Sprintf(".v%v", node.Version)
			}
		}
	}
	return names, nil
}

func (r *Result) dbt(f File, kind string, names map[string]string) error {
	var file dbtFile
	if err := decode(f, &file); err != nil {
		return err
	}
	if file.Results == nil {
		return missing(f, "results")
	}
	for i, one := range *file.Results {
		switch {
		case one.UniqueID == "":
			return missing(f, fmt.Sprintf("results[%d].unique_id", i))
		case one.Status == "":
			return missing(f, fmt.Sprintf("results[%d].status", i))
		}
	}
	if kind != "run-results" {
		r.dbtFreshness(*file.Results)
		return nil
	}
	switch which := file.Args.Which; {
	case which == "":
		return missing(f, "args.which")
	case !slices.Contains(dbtRuns, which):
		return rejected("%s was written by dbt %s, whose results say nothing about the data; only those of %s count. "+
			"Run one of them, and ingest its file before another command overwrites it",
			f.Name, dbtCommand(which), strings.Join(dbtRuns, ", "))
	}
	r.dbtRun(file, names)
	return nil
}

// dbtCommand returns the command that a user types, by args.which.
func dbtCommand(which string) string {
	if which == "generate" {
		return "docs generate"
	}
	return which
}

// dbtRun gives the reading of the run and one for each node.
func (r *Result) dbtRun(file dbtFile, names map[string]string) {
	all := *file.Results
	counts := map[string]int{}
	for _, one := range all {
		status := strings.ToLower(one.Status)
		counts[countedAs(status)]++
		fields := map[string]any{"status": status}
		set(fields, "failures", one.Failures)
		set(fields, "executionTime", one.ExecutionTime)
		r.add("dbt/node/"+keyName(nodeName(one.UniqueID, names)), fields)
		if as := countedAs(status); as == "fail" || as == "error" || as == "skipped" {
			r.Failed = append(r.Failed, fmt.Sprintf("%s: %s", one.UniqueID, status))
		}
	}
	status := "pass"
	for _, worst := range []string{"warn", "skipped", "fail", "error"} {
		if counts[worst] > 0 {
			status = worst
		}
	}
	if len(all) == 0 {
		status = "empty"
		r.Unknown = append(r.Unknown, "dbt ran no node")
	}
	run := map[string]any{"status": status, "which": file.Args.Which, "generatedAt": orNull(file.Metadata.GeneratedAt)}
	for _, count := range []string{"pass", "warn", "fail", "error", "skipped"} {
		run[count] = counts[count]
	}
	set(run, "invocationId", file.Metadata.InvocationID)
	r.add("dbt/run", run)
}

// countedAs is under what a node's status is counted. A status that is not known counts as an
// error: it is no pass.
func countedAs(status string) string {
	switch status {
	case "success", "pass", "no-op", "reused":
		return "pass"
	case "warn", "fail", "skipped":
		return status
	}
	return "error"
}

// nodeName is the name of a node: what the manifest says, else what its id says. The id of a test
// ends in a hash.
func nodeName(id string, names map[string]string) string {
	if name := names[id]; name != "" {
		return name
	}
	parts := strings.SplitN(id, ".", 3)
	if len(parts) < 3 {
		return id
	}
	if parts[0] == "test" {
		if name, _, hashed := strings.Cut(parts[2], "."); hashed {
			return name
		}
	}
	return parts[2]
}

// dbtFreshness gives a reading for each source table, and each model. A query that failed gives no
// status.
func (r *Result) dbtFreshness(all []dbtResult) {
	for _, one := range all {
		fields := map[string]any{"status": nil, "maxLoadedAt": nil, "ageSeconds": nil}
		r.add("dbt/freshness/"+keyName(nodeName(one.UniqueID, nil)), fields)
		status := strings.ToLower(one.Status)
		switch status {
		case "pass", "warn":
		case "error":
			r.Failed = append(r.Failed, one.UniqueID+": stale")
		default: // runtime error
			r.Unknown = append(r.Unknown, fmt.Sprintf("%s: %s", one.UniqueID, status))
			fields["error"] = status
			if text, ok := one.Error.(string); ok && text != "" {
				fields["error"] = shortError(text)
			}
			continue
		}
		fields["status"] = status
		set(fields, "maxLoadedAt", one.MaxLoadedAt)
		set(fields, "ageSeconds", one.Age)
	}
}
