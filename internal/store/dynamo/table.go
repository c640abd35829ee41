package dynamo

// The names of the four tables, without the environment prefix.
const (
	Control = "control"
	JobLog  = "joblog"
	Rerun   = "rerun"
	Events  = "events"
)

// TTL is the attribute by which all four tables expire rows, in seconds since 1970. No row that a
// guarantee depends on has it.
const TTL = "ttl"

// Table describes one table to deploy. Its key is PK and SK, both strings, as are index keys unless
// Number is set. Every table is billed per request.
type Table struct {
	Name    string
	Stream  bool // with a stream of new images
	Indexes []Index
}

// Index is a secondary index. It contains the rows that have both of its attributes; removing one
// removes the row from the index.
type Index struct {
	Name        string
	Hash, Range string
	Local       bool // Hash is PK, and it can be read consistently
	Number      bool // Range is a number
	All         bool // it holds whole rows instead of keys
}

// The indexes. docs/DYNAMODB.md explains their use.
var (
	ordered    = Index{Name: "ordered", Hash: "PK", Range: "ordered", Local: true}
	unfinished = Index{Name: "unfinished", Hash: "PK", Range: "unfinished", Local: true}
	listed     = Index{Name: "listed", Hash: "list", Range: "place"}
	pending    = Index{Name: "pending", Hash: "pending", Range: "pendingPlace"}
	aging      = Index{Name: "aging", Hash: "aging", Range: "agedAt"}
	byPosition = Index{Name: "byPosition", Hash: "PK", Range: "position", Local: true}
	byType     = Index{Name: "GSI1", Hash: "eventType", Range: "timestamp", Number: true, All: true}
)

// Tables returns the four tables.
func Tables() []Table {
	return []Table{
		{Name: Control, Stream: true, Indexes: []Index{ordered, unfinished, listed, pending, aging}},
		{Name: JobLog, Stream: true, Indexes: []Index{aging}},
		{Name: Rerun, Indexes: []Index{aging}},
		{Name: Events, Indexes: []Index{byPosition, byType, aging}},
	}
}

// TableName returns the name of a table in an environment.
func TableName(environment, table string) string { return environment + "-interlock-" + table }
