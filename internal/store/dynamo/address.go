package dynamo

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/interlock-go/interlock/internal/excerpt"
	"github.com/interlock-go/interlock/internal/store/row"
)

// Key prefixes that other code also needs.
const (
	pipelinePrefix = "PIPELINE#"
	sensorPrefix   = "SENSOR#"
	taskPrefix     = "TASK#"
	commitPrefix   = "COMMIT#"
	jobPrefix      = "JOB#"
	rerunRequest   = "RERUN_REQUEST#"
	request        = "REQUEST#"
)

// kind describes where the rows of a kind are stored.
type kind struct {
	table  string
	pk, sk string // prefixes of PK and SK
	// spread means that PK continues with the key instead of the partition. Such rows have no
	// partition, and cannot be read in key order.
	spread bool
	// only is the key of a partition's single row.
	only string
	// slashes is how many "/" of a key become "#" in SK.
	slashes int
}

// kinds are the kinds whose addresses the manual documents. Rows of other kinds are in control,
// under their kind in capitals.
var kinds = map[row.Kind]kind{
	"pipeline": {table: Control, pk: pipelinePrefix, sk: "STATE", only: "state"},
	"config":   {table: Control, pk: pipelinePrefix, sk: "CONFIG#"},
	"run":      {table: Control, pk: pipelinePrefix, sk: "TRIGGER#", slashes: 1},
	"dry":      {table: Control, pk: pipelinePrefix, sk: "DRY_RUN#", slashes: 1},
	"deadline": {table: Control, pk: pipelinePrefix, sk: "DEADLINE#", slashes: 2},
	"baseline": {table: Control, pk: pipelinePrefix, sk: "BASELINE#", slashes: 1},
	"sensor":   {table: Control, pk: pipelinePrefix, sk: "READING#"},
	"history":  {table: Control, pk: pipelinePrefix, sk: "HISTORY#"},
	"snapshot": {table: Control, pk: "SNAPSHOT#", sk: "SNAPSHOT", spread: true},
	"mark":     {table: Control, pk: "MARK#", sk: "MARK", spread: true},
	row.Tasks:  {table: Control, pk: taskPrefix, sk: "TASK", spread: true},
	"runlog":   {table: JobLog, pk: pipelinePrefix, sk: jobPrefix, slashes: 4},
	"rerun":    {table: Rerun, pk: pipelinePrefix, sk: "RERUN#", slashes: 2},
	"note":     {table: Events, pk: "NOTE#"},
	"cursor":   {table: Events, pk: "CURSOR"},
	row.Events: {table: Events, pk: pipelinePrefix},
}

func kindOf(k row.Kind) kind {
	if of, known := kinds[k]; known {
		return of
	}
	return kind{table: Control, pk: strings.ToUpper(string(k)) + "#"}
}

// spelled returns a key as it appears in SK.
func (k kind) spelled(key string) string { return strings.Replace(key, "/", "#", k.slashes) }

// addressOf returns the address of a row.
func addressOf(r row.Ref) address {
	switch k := kindOf(r.Kind); {
	case k.spread:
		return address{k.table, k.pk + cut(r.Key), k.sk}
	case k.only != "":
		return address{k.table, k.pk + r.Part, k.sk}
	default:
		return address{k.table, k.pk + r.Part, k.sk + cut(k.spelled(r.Key))}
	}
}

// ref returns the ref of a row that the engine wrote. A truncated key stays truncated, and still
// identifies the row.
func (r Row) ref(name row.Kind) row.Ref {
	k := kindOf(name)
	pk := strings.TrimPrefix(r.text("PK"), k.pk)
	switch {
	case k.spread:
		return row.Ref{Kind: name, Key: pk}
	case k.only != "":
		return row.Ref{Kind: name, Part: pk, Key: k.only}
	default:
		key := strings.Replace(strings.TrimPrefix(r.text("SK"), k.sk), "#", "/", k.slashes)
		return row.Ref{Kind: name, Part: pk, Key: key}
	}
}

// longest is the maximum length in bytes of a key or a place: DynamoDB allows 2048 for PK, and 1024
// for SK and index keys.
const longest = 900

// cut returns a name unchanged or, if it is too long, its beginning and a hash of the whole.
func cut(name string) string {
	if len(name) <= longest {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	end := "#" + hex.EncodeToString(sum[:])
	return excerpt.Head(name, longest-len(end)) + end
}

// bound returns the bound of a range: name or, if it is too long, the part that cut keeps, followed
// by end.
func bound(name, end string) string {
	if len(name) <= longest {
		return name
	}
	return excerpt.Head(name, longest-1-2*sha256.Size) + end
}

// first sorts before every key, and last after everything that a key goes on with.
const first, last = "\x00", "\U0010ffff"

// commitOf returns the address of the record that a transaction was applied. If the transaction
// only touches the events table, the record is in that table too, so that a function that only
// keeps notes needs access to no other.
func commitOf(id string, tx row.Tx) address {
	outside := func(op row.Op) bool { return kindOf(op.Row.Kind).table != Events }
	if len(tx.Events) > 0 || slices.ContainsFunc(tx.Ops, outside) {
		return address{Control, commitPrefix + cut(id), "COMMIT"}
	}
	return address{Events, commitPrefix + cut(id), "COMMIT"}
}

// listOf returns the name of a list in the indexes: lists of different kinds may have the same
// name.
func listOf(k row.Kind, list string) string { return string(k) + "/" + list }

func join(parts ...string) string { return strings.Join(parts, "#") }
