package awslambdatest

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// How long rows are kept.
const (
	Expires = "until their ttl"
	Ages    = "until the watchdog deletes them"
	Stays   = "forever"
)

// Rows counts rows and their bytes.
type Rows struct{ Count, Bytes int }

// Sizes returns the rows of all tables: by how long they are kept, and then by table and the first
// part of their key, such as "control TRIGGER".
func (l *Local) Sizes() map[string]map[string]Rows {
	l.Helper()
	all := map[string]map[string]Rows{Expires: {}, Ages: {}, Stays: {}}
	for _, table := range dynamo.Tables() {
		pages := dynamodb.NewScanPaginator(l.client, &dynamodb.ScanInput{TableName: aws.String(dynamo.TableName(l.environment, table.Name))})
		for pages.HasMorePages() {
			page, err := pages.NextPage(context.Background())
			if err != nil {
				l.Fatal(err)
			}
			for _, item := range page.Items {
				kept := Stays
				if item["ttl"] != nil {
					kept = Expires
				} else if item["aging"] != nil {
					kept = Ages
				}
				name := table.Name + " " + kindOf(item)
				sum := all[kept][name]
				all[kept][name] = Rows{sum.Count + 1, sum.Bytes + sizeOf(item)}
			}
		}
	}
	return all
}

func kindOf(item map[string]types.AttributeValue) string {
	key, _ := item["SK"].(*types.AttributeValueMemberS)
	kind, _, _ := strings.Cut(key.Value, "#")
	if kind == "" || kind[0] >= '0' && kind[0] <= '9' {
		return "event"
	}
	return kind
}

// sizeOf returns how many bytes DynamoDB bills for a row, without its places in indexes.
func sizeOf(item map[string]types.AttributeValue) (bytes int) {
	for name, v := range item {
		bytes += len(name)
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			bytes += len(v.Value)
		case *types.AttributeValueMemberB:
			bytes += len(v.Value)
		case *types.AttributeValueMemberN:
			bytes += len(v.Value)/2 + 1
		default:
			bytes++
		}
	}
	return bytes
}
