package awslambdatest

import (
	"context"
	"reflect"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
)

// Units are the request units that DynamoDB bills, with those of its indexes.
type Units struct{ Read, Write float64 }

// metered adds up the units of all calls.
type metered struct {
	mu sync.Mutex
	Units
}

// add makes each call ask for its units, and adds them up.
func (m *metered) add(stack *middleware.Stack) error {
	meter := func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (out middleware.InitializeOutput, md middleware.Metadata, err error) {
		asks := reflect.ValueOf(in.Parameters).Elem().FieldByName("ReturnConsumedCapacity")
		if asks.IsValid() {
			asks.SetString(string(types.ReturnConsumedCapacityIndexes))
		}
		out, md, err = next.HandleInitialize(ctx, in)
		if err == nil && asks.IsValid() {
			m.count(stack.ID(), reflect.ValueOf(out.Result).Elem().FieldByName("ConsumedCapacity").Interface())
		}
		return out, md, err
	}
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("units", meter), middleware.Before)
}

// count adds up the units of a call. A transaction uses two units for each that the same write would use
// by itself, in the table and its local indexes; a global index is updated afterwards, by an ordinary
// write. DynamoDB Local counts four everywhere.
func (m *metered) count(operation string, consumed any) {
	var all []types.ConsumedCapacity
	switch c := consumed.(type) {
	case *types.ConsumedCapacity:
		if c != nil {
			all = append(all, *c)
		}
	case []types.ConsumedCapacity:
		all = c
	}
	local, global := 1.0, 1.0
	if operation == "TransactWriteItems" {
		local, global = 0.5, 0.25
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range all {
		units := *c.CapacityUnits * local
		for _, index := range c.GlobalSecondaryIndexes {
			units += *index.CapacityUnits * (global - local)
		}
		switch operation {
		case "GetItem", "BatchGetItem", "Query":
			m.Read += units
		default:
			m.Write += units
		}
	}
}

// Units returns the units that the functions have used.
func (l *Local) Units() Units {
	l.metered.mu.Lock()
	defer l.metered.mu.Unlock()
	return l.metered.Units
}
