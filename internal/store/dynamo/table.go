package dynamo

// The names of the four tables, without the environment that they begin with.
const (
	Control = "control"
	JobLog  = "joblog"
	Rerun   = "rerun"
	Events  = "events"
)

// TTL is the attribute by which all four tables forget rows: seconds since 1970. Nothing that a
// promise needs carries it.
const TTL = "ttl"

// Table is what has to be deployed of one table. Its key is PK and SK, both texts, as are the keys
// of its indexes unless Number says otherwise. Every table is billed by request.
type Table struct {
	Name    string
	Stream  bool // of new images
	Indexes []Index
}

// Index is a secondary index. It holds those rows that have both of its attributes, so a row leaves
// it by losing one.
type Index struct {
	Name        string
	Hash, Range string
	Local       bool // its Hash is PK, and it can be read consistently
	Number      bool // Range is a number
	All         bool // it holds whole rows, and otherwise their keys only
}

// The indexes. What each is for is said in docs/DYNAMODB.md.
var (
	ordered    = Index{Name: "ordered", Hash: "PK", Range: "place", Local: true}
	unfinished = Index{Name: "unfinished", Hash: "PK", Range: "pendingPlace", Local: true}
	listed     = Index{Name: "listed", Hash: "list", Range: "place"}
	pending    = Index{Name: "pending", Hash: "pending", Range: "pendingPlace"}
	aging      = Index{Name: "aging", Hash: "aging", Range: "agedAt"}
	byPosition = Index{Name: "byPosition", Hash: "PK", Range: "position", Local: true}
	byType     = Index{Name: "GSI1", Hash: "eventType", Range: "timestamp", Number: true, All: true}
)

// Tables are the four tables.
func Tables() []Table {
	return []Table{
		{Name: Control, Stream: true, Indexes: []Index{ordered, unfinished, listed, pending, aging}},
		{Name: JobLog, Stream: true, Indexes: []Index{aging}},
		{Name: Rerun, Indexes: []Index{aging}},
		{Name: Events, Indexes: []Index{byPosition, byType, aging}},
	}
}

// TableName is the name of a table in an environment.
func TableName(environment, table string) string { return environment + "-interlock-" + table }
