package dynamo

import "context"

// RowAt reads a row as it is, for tests that look at what is stored.
func (s *Store) RowAt(ctx context.Context, table, pk, sk string) (Row, error) {
	return s.row(ctx, address{table, pk, sk})
}

// PutRowAt writes one as somebody else would.
func (s *Store) PutRowAt(ctx context.Context, table, pk, sk string, row Row) error {
	return s.putRow(ctx, address{table, pk, sk}, row)
}

// ParseURL tells the parts of a URL.
func ParseURL(url string) (environment, region, endpoint string, err error) {
	t, err := parseURL(url)
	return t.environment, t.region, t.endpoint, err
}
