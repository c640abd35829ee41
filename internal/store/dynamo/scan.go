package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// Scan reads each range with its own queries.
func (e *Engine) Scan(ctx context.Context, ranges []row.Range) ([]row.Page, error) {
	if err := e.open(); err != nil {
		return nil, err
	}
	pages := make([]row.Page, len(ranges))
	err := store.Together(len(ranges), atOnce, func(i int) error {
		r := ranges[i]
		of, err := spanOf(r)
		if r.Kind == row.Events && r.Index != row.Aging {
			pages[i], err = e.scanEvents(ctx, r)
		} else if err == nil {
			pages[i], err = e.pageOf(ctx, r, of)
		}
		if err != nil {
			return fmt.Errorf("list rows of kind %s: %w", r.Kind, err)
		}
		return nil
	})
	return pages, err
}

// The indexes of control for the indexes of rows: within a partition, and over all.
var (
	localIndexes  = [row.Indexes]Index{row.Ordered: ordered, row.Pending: unfinished}
	globalIndexes = [row.Indexes]Index{row.Ordered: listed, row.Pending: pending, row.Aging: aging}
)

// spanOf returns the span that contains the rows of a range.
func spanOf(r row.Range) (span, error) {
	k := kindOf(r.Kind)
	of := span{table: k.table, hash: k.pk + r.Part, backwards: r.Backwards}
	if r.List == "" {
		if k.spread {
			return of, fmt.Errorf("rows of kind %s are not kept in the order of their keys", r.Kind)
		}
		of.low, of.high = k.sk+bound(k.spelled(r.From), ""), k.sk+last
		if r.To != "" {
			of.high = k.sk + bound(k.spelled(r.To), last)
		}
		return of, nil
	}
	list := listOf(r.Kind, r.List)
	if of.index = localIndexes[r.Index]; r.Part == "" || r.Index == row.Aging {
		of.index, of.hash = globalIndexes[r.Index], list
	}
	of.low, of.high = bound(join(list, r.From), ""), join(list, last)
	if r.To != "" {
		of.high = bound(join(list, r.To), last)
	}
	return of, nil
}

// sparse is the minimum number of rows a query reads if some of them may not belong to the range.
const sparse = 25

// pageOf reads the rows of a span that belong to a range.
func (e *Engine) pageOf(ctx context.Context, r row.Range, of span) (p row.Page, err error) {
	for of.low <= of.high {
		limit := r.Limit - len(p.Rows)
		if len(r.Except) > 0 || r.Kind == row.Events && r.Index == row.Pending {
			limit = max(limit, sparse)
		}
		found, err := e.some(ctx, r, &of, limit)
		if err != nil {
			return p, err
		}
		p.Rows = append(p.Rows, found...)
		if p.More = of.next != nil; len(p.Rows) > r.Limit {
			p.Rows, p.More = p.Rows[:r.Limit], true
		}
		if !p.More || len(p.Rows) == r.Limit {
			return p, nil
		}
	}
	return p, nil
}

// some reads up to limit rows of a span, and returns those that belong to a range.
func (e *Engine) some(ctx context.Context, r row.Range, of *span, limit int) (all []row.Row, err error) {
	items, err := e.query(ctx, of, limit)
	if err != nil {
		return nil, err
	}
	names := r.Names && !of.whole()
	if !names {
		if items, err = e.current(ctx, *of, items); err != nil {
			return nil, err
		}
	}
	for _, item := range items {
		var found row.Row
		if names {
			found = item.name(r.Kind)
		} else if found, err = item.row(r.Kind); err != nil {
			return nil, err
		}
		if has(r, found) {
			all = append(all, found)
		}
	}
	return all, nil
}

// has reports whether a row belongs to a range.
func has(r row.Range, found row.Row) bool {
	key := found.Key
	if r.List != "" {
		if key = found.Places[r.Index].Key; found.Places[r.Index].List != r.List {
			return false
		}
	}
	return key != "" && key >= r.From && (r.To == "" || key < r.To) && !slices.Contains(r.Except, found.Tag)
}

// current returns the current rows of index entries, without those that have since moved in the
// index.
func (t *tables) current(ctx context.Context, of span, keys []Row) (out []Row, err error) {
	if of.whole() {
		return keys, nil
	}
	at := make([]address, len(keys))
	for i, key := range keys {
		at[i] = key.at(of.table)
	}
	found, err := t.rows(ctx, at)
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		r := found[at[i]]
		if r.text(of.index.Hash) == key.text(of.index.Hash) && r.text(of.index.Range) == key.text(of.index.Range) {
			out = append(out, r)
		}
	}
	return out, nil
}

// list reads up to limit rows listed in a global index.
func (t *tables) list(ctx context.Context, of span, limit int) (all []Row, err error) {
	if err := t.open(); err != nil {
		return nil, err
	}
	for len(all) < limit {
		keys, err := t.query(ctx, &of, limit-len(all))
		if err == nil {
			keys, err = t.current(ctx, of, keys)
		}
		if err != nil {
			return nil, err
		}
		if all = append(all, keys...); of.next == nil {
			break
		}
	}
	return all, nil
}

// span is a range of rows with the same hash key, in range key order. Without an index the keys are
// PK and SK.
type span struct {
	table     string
	index     Index
	hash      string
	low, high string // both inclusive
	backwards bool
	eventType string                          // if set, only events of this type
	next      map[string]types.AttributeValue // start of the next query; nil at the end
}

// whole reports whether a query of the span returns whole rows instead of keys.
func (of span) whole() bool { return of.index.Name == "" || of.index.Local }

// query reads up to limit rows of a span, and advances of.next. It may return fewer although there
// are more.
func (t *tables) query(ctx context.Context, of *span, limit int) ([]Row, error) {
	in := &dynamodb.QueryInput{
		TableName: t.table(of.table), ScanIndexForward: aws.Bool(!of.backwards), ExclusiveStartKey: of.next,
		KeyConditionExpression:    aws.String("#h = :h AND #r BETWEEN :low AND :high"),
		ExpressionAttributeNames:  map[string]string{"#h": "PK", "#r": "SK"},
		ExpressionAttributeValues: Row{":h": text(of.hash), ":low": text(cmp.Or(of.low, first)), ":high": text(of.high)},
	}
	if of.whole() {
		in.ConsistentRead, in.Limit = aws.Bool(true), aws.Int32(int32(min(limit, store.MaxPage)))
	} else {
		in.Limit = aws.Int32(int32(min(limit, 10*store.MaxPage))) // keys are small
	}
	if of.index.Name != "" {
		in.IndexName = aws.String(of.index.Name)
		in.ExpressionAttributeNames = map[string]string{"#h": of.index.Hash, "#r": of.index.Range}
		if of.index.Local {
			in.Select = types.SelectAllAttributes
		}
	}
	if of.eventType != "" {
		in.Limit = aws.Int32(store.MaxPage) // rows that the filter drops count too
		in.FilterExpression, in.ExpressionAttributeNames["#t"] = aws.String("#t = :t"), "eventType"
		in.ExpressionAttributeValues[":t"] = text(of.eventType)
	}
	out, err := t.do.query(ctx, in)
	if err != nil {
		return nil, t.fault(err)
	}
	of.next = nil
	if len(out.LastEvaluatedKey) > 0 {
		of.next = out.LastEvaluatedKey
	}
	items := make([]Row, len(out.Items))
	for i, item := range out.Items {
		items[i] = item
	}
	return items, nil
}
