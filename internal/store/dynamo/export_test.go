package dynamo

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// CountRows counts the rows that are read from now on.
func (s *Store) CountRows() *atomic.Int64 {
	var rows atomic.Int64
	query, batchGet := s.do.query, s.do.batchGet
	s.do.query = func(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
		out, err := query(ctx, in, o...)
		if err == nil {
			rows.Add(int64(len(out.Items)))
		}
		return out, err
	}
	s.do.batchGet = func(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
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

// RowAt reads a row as it is, for tests that look at what is stored.
func (s *Store) RowAt(ctx context.Context, table, pk, sk string) (Row, error) {
	return s.row(ctx, address{table, pk, sk})
}

// PutRowAt writes one as somebody else would.
func (s *Store) PutRowAt(ctx context.Context, table, pk, sk string, row Row) error {
	return s.putRow(ctx, address{table, pk, sk}, row)
}

// BeforeDrop calls do before the first row that is dropped by itself.
func (s *Store) BeforeDrop(do func()) {
	drop, first := s.do.drop, sync.OnceFunc(do)
	s.do.drop = func(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
		first()
		return drop(ctx, in, o...)
	}
}

// ParseURL tells the parts of a URL.
func ParseURL(url string) (environment, region, endpoint string, err error) {
	t, err := parseURL(url)
	return t.environment, t.region, t.endpoint, err
}
