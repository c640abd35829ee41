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
		in.Limit = aws.Int32(int32(min(limit-len(rows), of.page())))
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

// page is how many rows one call reads at most: keys alone are small.
func (of span) page() int {
	if of.index.Name == "" || of.index.Local || of.index.All {
		return store.MaxPage + 1
	}
	return 10 * store.MaxPage
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

// listPiece gives up to limit rows of a list after a place, the place of the last of them, and whether there may be more.
func (s *Store) listPiece(ctx context.Context, l list, after string, limit int) (rows []Row, end string, more bool, err error) {
	prefix := l.prefix
	if prefix == "" {
		prefix = l.hash + "#"
	}
	of := span{table: l.table, index: l.index, hash: l.hash, low: max(prefix, l.from, after), high: prefix + last}
	if l.before != "" {
		of.high = l.before
	}
	end = after
	for {
		keys, further, err := s.query(ctx, of, limit-len(rows)+1) // one more, since the first may be where the last piece ended
		if err != nil {
			return nil, "", false, err
		}
		found, err := s.wholeRows(ctx, of, keys)
		if err != nil {
			return nil, "", false, err
		}
		for i, key := range keys {
			switch at := key.text(l.index.Range); {
			case at == end:
			case len(rows) == limit:
				return rows, end, true, nil
			default:
				end = at
				if found[i] != nil {
					rows = append(rows, found[i])
				}
			}
		}
		if !further || len(rows) == limit {
			return rows, end, further, nil
		}
		of.low = end
	}
}

// listed is listPiece without the place where it ended.
func (s *Store) listed(ctx context.Context, l list, after string, limit int) ([]Row, error) {
	rows, _, _, err := s.listPiece(ctx, l, after, limit)
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
		rows, end, _, err := s.listPiece(ctx, l, after, limit)
		if err != nil {
			return nil, "", err
		}
		items, err = decodeAll[T](rows)
		return items, end, err
	}
}

func decodeAll[T any](rows []Row) (items []T, err error) {
	for _, row := range rows {
		item, err := decode[T](row)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// every goes through a whole list.
func (s *Store) every(ctx context.Context, l list, do func(rows []Row) error) error {
	for after, more := "", true; more; {
		rows, end, further, err := s.listPiece(ctx, l, after, store.MaxPage)
		if err != nil {
			return err
		}
		if err := do(rows); err != nil {
			return err
		}
		after, more = end, further
	}
	return nil
}

// everyRecord reads a whole list.
func everyRecord[T any](ctx context.Context, s *Store, l list) (all []T, err error) {
	err = s.every(ctx, l, func(rows []Row) error {
		items, err := decodeAll[T](rows)
		all = append(all, items...)
		return err
	})
	return all, err
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
