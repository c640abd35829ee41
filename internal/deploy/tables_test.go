package deploy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/interlock-go/interlock/internal/store/dynamo"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

func TestTablesAreThoseOfTheStore(t *testing.T) {
	m := least(t)
	found := m.all("aws_dynamodb_table")
	if len(found) != len(dynamo.Tables()) {
		t.Errorf("%d tables", len(found))
	}
	for _, want := range dynamo.Tables() {
		b := found[want.Name]
		if b == nil {
			t.Errorf("there is no table %s", want.Name)
			continue
		}
		if diff := cmp.Diff(wanted(want), m.table(t, b)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", want.Name, diff)
		}
	}
}

// table is a deployed table, as text.
type table struct {
	Name, Hash, Range, Billing, Stream, View, TTL, Recovery, Key string
	Attributes, Indexes                                          []string
}

func (m *module) table(t testing.TB, b *hclsyntax.Block) table {
	t.Helper()
	attr := func(name string) string { return m.text(t, b, name, nil) }
	got := table{
		Name: attr("name"), Hash: attr("hash_key"), Range: attr("range_key"), Billing: attr("billing_mode"),
		Stream: attr("stream_enabled"), View: attr("stream_view_type"),
	}
	for _, inner := range b.Body.Blocks {
		of := func(name string) string { return m.text(t, inner, name, nil) }
		switch inner.Type {
		case "attribute":
			got.Attributes = append(got.Attributes, of("name")+" "+of("type"))
		case "local_secondary_index":
			got.Indexes = append(got.Indexes, strings.Join([]string{"local", of("name"), "PK", of("range_key"), of("projection_type")}, " "))
		case "global_secondary_index":
			got.Indexes = append(got.Indexes, strings.Join([]string{"global", of("name"), of("hash_key"), of("range_key"), of("projection_type")}, " "))
		case "ttl":
			got.TTL = of("attribute_name") + " " + of("enabled")
		case "point_in_time_recovery":
			got.Recovery = of("enabled")
		case "server_side_encryption":
			got.Key = of("kms_key_arn")
		}
	}
	got.Attributes, got.Indexes = sorted(got.Attributes), sorted(got.Indexes)
	return got
}

// wanted returns the table that the store requires.
func wanted(of dynamo.Table) table {
	want := table{
		Name: dynamo.TableName("test", of.Name), Hash: "PK", Range: "SK", Billing: "PAY_PER_REQUEST", TTL: dynamo.TTL + " true",
		Recovery: "true", Key: "<unknown>",
	}
	if of.Stream {
		want.Stream, want.View = "true", "NEW_IMAGE"
	}
	in := dynamotest.Creation(of, "test")
	for _, a := range in.AttributeDefinitions {
		want.Attributes = append(want.Attributes, *a.AttributeName+" "+string(a.AttributeType))
	}
	for _, x := range in.LocalSecondaryIndexes {
		want.Indexes = append(want.Indexes, strings.Join([]string{"local", *x.IndexName, *x.KeySchema[0].AttributeName, *x.KeySchema[1].AttributeName, string(x.Projection.ProjectionType)}, " "))
	}
	for _, x := range in.GlobalSecondaryIndexes {
		want.Indexes = append(want.Indexes, strings.Join([]string{"global", *x.IndexName, *x.KeySchema[0].AttributeName, *x.KeySchema[1].AttributeName, string(x.Projection.ProjectionType)}, " "))
	}
	want.Attributes, want.Indexes = sorted(want.Attributes), sorted(want.Indexes)
	return want
}
