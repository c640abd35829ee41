package awslambdatest

import (
	"context"
	"maps"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// Units are the request units that DynamoDB bills, with those of its indexes.
type Units struct{ Read, Write float64 }

// metered adds up the units of all calls. DynamoDB Local says how many a read takes. It counts equal
// rows of a transaction once, so those of writes are computed from the rows before and after each
// call, by the rules that AWS publishes.
type metered struct {
	client *dynamodb.Client // reads the rows
	on     atomic.Bool      // after Measure

	mu sync.Mutex
	Units
}

type item = map[string]types.AttributeValue

// written is a row that a call may write.
type written struct {
	table string
	key   item
}

// add makes each call ask for its units, and adds them up.
func (m *metered) add(stack *middleware.Stack) error {
	meter := func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, md middleware.Metadata, err error) {
		asks := reflect.ValueOf(in.Parameters).Elem().FieldByName("ReturnConsumedCapacity")
		if !m.on.Load() || !asks.IsValid() {
			return next.HandleInitialize(ctx, in)
		}
		asks.SetString(string(types.ReturnConsumedCapacityTotal))
		rows, each := writtenBy(in.Parameters)
		before, err := m.read(ctx, rows)
		if err != nil {
			return out, md, err
		}
		out, md, err = next.HandleInitialize(ctx, in)
		if err != nil {
			return out, md, err
		}
		after, failed := m.read(ctx, rows)
		if failed != nil {
			return out, md, failed
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.Read += readUnits(reflect.ValueOf(out.Result).Elem().FieldByName("ConsumedCapacity").Interface(), len(rows) > 0)
		for i, row := range rows {
			m.Write += writeUnits(row.table, before[i], after[i], each)
		}
		return out, md, nil
	}
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("units", meter), middleware.Before)
}

// writtenBy returns the rows that a call writes or checks, and how many units each unit of them takes:
// two in a transaction.
func writtenBy(call any) (rows []written, each float64) {
	keyOf := func(row item) item { return item{"PK": row["PK"], "SK": row["SK"]} }
	add := func(table *string, key item) { rows = append(rows, written{aws.ToString(table), key}) }
	switch in := call.(type) {
	case *dynamodb.PutItemInput:
		add(in.TableName, keyOf(in.Item))
	case *dynamodb.UpdateItemInput:
		add(in.TableName, in.Key)
	case *dynamodb.DeleteItemInput:
		add(in.TableName, in.Key)
	case *dynamodb.TransactWriteItemsInput:
		for _, one := range in.TransactItems {
			switch {
			case one.Put != nil:
				add(one.Put.TableName, keyOf(one.Put.Item))
			case one.Delete != nil:
				add(one.Delete.TableName, one.Delete.Key)
			case one.ConditionCheck != nil:
				add(one.ConditionCheck.TableName, one.ConditionCheck.Key)
			}
		}
		return rows, 2
	}
	return rows, 1
}

func (m *metered) read(ctx context.Context, rows []written) (items []item, err error) {
	for _, row := range rows {
		out, err := m.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &row.table, Key: row.key, ConsistentRead: aws.Bool(true)})
		if err != nil {
			return nil, err
		}
		items = append(items, out.Item)
	}
	return items, nil
}

func readUnits(consumed any, writes bool) (units float64) {
	if writes {
		return 0
	}
	switch c := consumed.(type) {
	case *types.ConsumedCapacity:
		units = *c.CapacityUnits
	case []types.ConsumedCapacity:
		for _, one := range c {
			units += *one.CapacityUnits
		}
	}
	return units
}

// writeUnits returns what it takes to write a row, in a table and its indexes. Global indexes are
// updated afterwards, by ordinary writes, also those of a transaction.
func writeUnits(table string, before, after item, each float64) float64 {
	units := each * units(max(sizeOf(before), sizeOf(after)))
	for _, t := range dynamo.Tables() {
		if !strings.HasSuffix(table, dynamo.TableName("", t.Name)) {
			continue
		}
		for _, index := range t.Indexes {
			n := entryUnits(entryOf(index, before), entryOf(index, after))
			if index.Local {
				n *= each
			}
			units += n
		}
	}
	return units
}

// entryUnits returns what it takes to change the entry of a row in an index: a new place is a deletion
// and a write.
func entryUnits(before, after item) float64 {
	switch {
	case reflect.DeepEqual(before, after):
		return 0
	case before == nil || after == nil:
		return units(max(sizeOf(before), sizeOf(after)))
	default:
		return units(sizeOf(before)) + units(sizeOf(after))
	}
}

// entryOf returns what an index has of a row; nil if the row is not in it.
func entryOf(index dynamo.Index, row item) item {
	if row[index.Hash] == nil || row[index.Range] == nil {
		return nil
	}
	if index.All {
		return maps.Clone(row)
	}
	return item{"PK": row["PK"], "SK": row["SK"], index.Hash: row[index.Hash], index.Range: row[index.Range]}
}

// units returns how many units a row of that size takes: one per KB, and one for a row that is not there.
func units(bytes int) float64 { return float64(max(1, (bytes+1023)/1024)) }

// Measure counts the units of calls from now on, which takes two more reads for every row that is written.
func (l *Local) Measure() { l.metered.on.Store(true) }

// Units returns the units that the functions have used since Measure.
func (l *Local) Units() Units {
	l.metered.mu.Lock()
	defer l.metered.mu.Unlock()
	return l.metered.Units
}
