package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/store"
)

// span is a stretch of rows that share a hash key, in the order of their range key. Without an index that is PK and SK.
type span struct {
	table     string
	index     Index
	hash      string
	low, high string // both included
	backwards bool
}

// query reads up to limit rows of a span, and says whether there may be more. Rows of an index that is not local have their
// keys only, unless it holds all.
func (s *Store) query(ctx context.Context, of span, limit int) (rows []Row, more bool, err error) {
	if err := s.open(); err != nil {
		return nil, false, err
	}
	in := &dynamodb.QueryInput{
		TableName: s.table(of.table), ScanIndexForward: aws.Bool(!of.backwards),
		KeyConditionExpression:    aws.String("#h = :h AND #r BETWEEN :low AND :high"),
		ExpressionAttributeNames:  map[string]string{"#h": "PK", "#r": "SK"},
		ExpressionAttributeValues: Row{":h": text(of.hash), ":low": text(of.low), ":high": text(of.high)},
	}
	if of.index.Name == "" || of.index.Local {
		in.ConsistentRead = aws.Bool(true)
	}
	if of.index.Name != "" {
		in.IndexName = aws.String(of.index.Name)
		in.ExpressionAttributeNames = map[string]string{"#h": of.index.Hash, "#r": of.index.Range}
		if of.index.Local {
			in.Select = types.SelectAllAttributes
		}
	}
	if of.low > of.high {
		return nil, false, nil
	}
	for {
		in.Limit = aws.Int32(int32(min(limit-len(rows), store.MaxPage+1)))
		out, err := s.do.query(ctx, in)
		if err != nil {
			return nil, false, s.fault(err)
		}
		for _, item := range out.Items {
			rows = append(rows, item)
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 || len(rows) >= limit {
			return rows, len(in.ExclusiveStartKey) > 0, nil
		}
	}
}

// all reads a whole span.
func (s *Store) all(ctx context.Context, of span) ([]Row, error) {
	rows, _, err := s.query(ctx, of, 1<<30)
	return rows, err
}

// under is the span of the rows of a partition whose SK begins with a prefix that something of ASCII follows.
func under(table, pk, prefix string) span {
	return span{table: table, hash: pk, low: prefix, high: prefix + last}
}

// last sorts after everything that a key goes on with.
const last = "\uffff"

// list is a list that an index keeps.
type list struct {
	table  string
	index  Index
	hash   string // of the index: the name of the list, or a partition where the index is local
	prefix string // what the places of the list begin with; its name and a separator unless it is given
	from   string // places from here on, if it is set
	before string // places up to here, if it is set
}

// listPiece gives up to limit rows of a list after a place, and the place of the last of them; "" if nothing follows.
func (s *Store) listPiece(ctx context.Context, l list, after string, limit int) (rows []Row, end string, err error) {
	prefix := l.prefix
	if prefix == "" {
		prefix = l.hash + "#"
	}
	of := span{table: l.table, index: l.index, hash: l.hash, low: max(prefix, l.from, after), high: prefix + last}
	if l.before != "" {
		of.high = l.before
	}
	for len(rows) < limit {
		keys, more, err := s.query(ctx, of, limit-len(rows)+1)
		if err != nil {
			return nil, "", err
		}
		found, err := s.wholeRows(ctx, of, keys)
		if err != nil {
			return nil, "", err
		}
		for i, key := range keys {
			end = key.text(l.index.Range)
			if end != after && found[i] != nil && len(rows) < limit {
				rows = append(rows, found[i])
			}
			if len(rows) == limit && (more || i < len(keys)-1) {
				return rows, end, nil
			}
		}
		if !more {
			return rows, "", nil
		}
		of.low, after = end, end
	}
	return rows, end, nil
}

// listed is listPiece without the place where it ended.
func (s *Store) listed(ctx context.Context, l list, after string, limit int) ([]Row, error) {
	rows, _, err := s.listPiece(ctx, l, after, limit)
	return rows, err
}

// wholeRows gives the rows that an index names, as they are now; nil for those that are gone.
func (s *Store) wholeRows(ctx context.Context, of span, keys []Row) ([]Row, error) {
	if of.index.Local || of.index.All || len(keys) == 0 {
		return keys, nil
	}
	var at []address
	for _, key := range keys {
		at = append(at, key.at(of.table))
	}
	found, err := s.rows(ctx, at)
	if err != nil {
		return nil, err
	}
	out := make([]Row, len(keys))
	for i, a := range at {
		out[i] = found[a]
	}
	return out, nil
}

// records reads a piece of a list as what its rows hold.
func records[T any](ctx context.Context, s *Store, l list) store.Piece[T] {
	return func(after string, limit int) (items []T, end string, err error) {
		rows, end, err := s.listPiece(ctx, l, after, limit)
		if err != nil {
			return nil, "", err
		}
		for _, row := range rows {
			item, err := decode[T](row)
			if err != nil {
				return nil, "", err
			}
			items = append(items, item)
		}
		return items, end, nil
	}
}

// every reads a whole list.
func every[T any](ctx context.Context, s *Store, l list) (all []T, err error) {
	read := records[T](ctx, s, l)
	for after := ""; ; {
		items, end, err := read(after, store.MaxPage)
		if err != nil {
			return nil, err
		}
		if all = append(all, items...); end == "" {
			return all, nil
		}
		after = end
	}
}

// find reads one record; ErrNotFound if it is not there.
func find[T any](ctx context.Context, s *Store, at address, what string) (none T, err error) {
	row, err := s.row(ctx, at)
	if err == nil && row == nil {
		err = store.ErrNotFound
	}
	if err != nil {
		return none, fmt.Errorf("read %s: %w", what, err)
	}
	return decode[T](row)
}

var errNoFeed = errors.New("changes of deployed tables are followed by the stream-router: they are not handed out here")
