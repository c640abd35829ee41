package dynamo

import (
	"context"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// CountRows counts the rows read from now on.
func (t *tables) CountRows() *atomic.Int64 {
	var rows atomic.Int64
	query, batchGet := t.do.query, t.do.batchGet
	t.do.query = func(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
		out, err := query(ctx, in, o...)
		if err == nil {
			rows.Add(int64(len(out.Items)))
		}
		return out, err
	}
	t.do.batchGet = func(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
		out, err := batchGet(ctx, in, o...)
		if err == nil {
			for _, items := range out.Responses {
				rows.Add(int64(len(items)))
			}
		}
		return out, err
	}
	return &rows
}

// RowAt reads a raw row, for tests that check what is stored.
func (t *tables) RowAt(ctx context.Context, table, pk, sk string) (Row, error) {
	return t.getRow(ctx, address{table, pk, sk})
}

// PutRowAt writes a row as other programs do.
func (t *tables) PutRowAt(ctx context.Context, table, pk, sk string, row Row) error {
	return t.put(ctx, address{table, pk, sk}, row)
}

// ParseURL returns the parts of a URL.
func ParseURL(url string) (environment, region, endpoint string, err error) {
	t, err := parseURL(url)
	return t.environment, t.region, t.endpoint, err
}
