package dynamo

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The names of the four tables, without the environment that they begin with.
const (
	Control = "control"
	JobLog  = "joblog"
	Rerun   = "rerun"
	Events  = "events"
)

// TTL is the attribute by which all four tables forget rows: seconds since 1970. Nothing that a promise needs carries it.
const TTL = "ttl"

// Table is what has to be deployed of one table. Its key is PK and SK, both texts, as are the keys of its indexes unless Number
// says otherwise. Every table is billed by request.
type Table struct {
	Name    string
	Stream  bool // of new images
	Indexes []Index
}

// Index is a secondary index. It holds those rows that have both of its attributes, so a row leaves it by losing one.
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

// Create is the request that makes t in an environment. Whoever sends it turns TTL on afterwards.
func (t Table) Create(environment string) *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(TableName(environment, t.Name)), BillingMode: types.BillingModePayPerRequest,
		KeySchema: keySchema("PK", "SK"),
	}
	define(in, "PK", types.ScalarAttributeTypeS)
	define(in, "SK", types.ScalarAttributeTypeS)
	for _, x := range t.Indexes {
		kind, projection := types.ScalarAttributeTypeS, &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly}
		if x.Number {
			kind = types.ScalarAttributeTypeN
		}
		if x.All {
			projection.ProjectionType = types.ProjectionTypeAll
		}
		define(in, x.Hash, types.ScalarAttributeTypeS)
		define(in, x.Range, kind)
		if x.Local {
			in.LocalSecondaryIndexes = append(in.LocalSecondaryIndexes, types.LocalSecondaryIndex{
				IndexName: aws.String(x.Name), KeySchema: keySchema(x.Hash, x.Range), Projection: projection,
			})
			continue
		}
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: aws.String(x.Name), KeySchema: keySchema(x.Hash, x.Range), Projection: projection,
		})
	}
	if t.Stream {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewImage}
	}
	return in
}

func keySchema(hash, sort string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(hash), KeyType: types.KeyTypeHash}, {AttributeName: aws.String(sort), KeyType: types.KeyTypeRange},
	}
}

// define adds an attribute that is a key of something, once.
func define(in *dynamodb.CreateTableInput, name string, kind types.ScalarAttributeType) {
	known := slices.ContainsFunc(in.AttributeDefinitions, func(d types.AttributeDefinition) bool { return *d.AttributeName == name })
	if !known {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: kind})
	}
}
