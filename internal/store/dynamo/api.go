package dynamo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/interlock-go/interlock/internal/backoff"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

// operation is a method of the SDK's client. The engine stores only the methods it calls instead of
// the client: for a value that reflection can reach, the linker keeps all methods of its type, and
// there are dozens.
type operation[In, Out any] = func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error)

type calls struct {
	get      operation[dynamodb.GetItemInput, dynamodb.GetItemOutput]
	put      operation[dynamodb.PutItemInput, dynamodb.PutItemOutput]
	update   operation[dynamodb.UpdateItemInput, dynamodb.UpdateItemOutput]
	drop     operation[dynamodb.DeleteItemInput, dynamodb.DeleteItemOutput]
	query    operation[dynamodb.QueryInput, dynamodb.QueryOutput]
	batchGet operation[dynamodb.BatchGetItemInput, dynamodb.BatchGetItemOutput]
	transact operation[dynamodb.TransactWriteItemsInput, dynamodb.TransactWriteItemsOutput]
}

func callsOf(c *dynamodb.Client) calls {
	return calls{
		get: c.GetItem, put: c.PutItem, update: c.UpdateItem, drop: c.DeleteItem, query: c.Query,
		batchGet: c.BatchGetItem, transact: c.TransactWriteItems,
	}
}

// address is the address of a row.
type address struct{ table, pk, sk string }

func (a address) key() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"PK": text(a.pk), "SK": text(a.sk)}
}

// tables is the database access that Engine and Store share.
type tables struct {
	do calls

	environment, region string
	keepEvents          time.Duration
	follow              bool

	gets          *store.Gatherer[*reading]
	tasks, events store.Signal
	log           log
	numbers       struct {
		mu   sync.Mutex
		last int64 // last number drawn
	}

	closed chan struct{}
	once   sync.Once
	watch  sync.Once
	ended  sync.WaitGroup
}

func (t *tables) table(name string) *string { return aws.String(TableName(t.environment, name)) }

func (t *tables) open() error {
	select {
	case <-t.closed:
		return row.ErrClosed
	default:
		return nil
	}
}

// condition is the condition of a write.
type condition struct {
	text   *string
	names  map[string]string
	values Row
}

var (
	absent  = condition{text: aws.String("attribute_not_exists(PK)")}
	present = condition{text: aws.String("attribute_exists(PK)")}
	never   = condition{text: aws.String("attribute_exists(PK) AND attribute_not_exists(PK)")}
)

func equals(name string, value types.AttributeValue) condition {
	return condition{text: aws.String("#is = :is"), names: map[string]string{"#is": name}, values: Row{":is": value}}
}

// item returns one item of a transaction. r is the row it puts.
func (t *tables) item(do row.Do, at address, r Row, on condition) (i types.TransactWriteItem) {
	table := t.table(at.table)
	switch do {
	case row.Put:
		r["PK"], r["SK"] = text(at.pk), text(at.sk)
		i.Put = &types.Put{
			TableName: table, Item: r,
			ConditionExpression: on.text, ExpressionAttributeNames: on.names, ExpressionAttributeValues: on.values,
		}
	case row.Delete:
		i.Delete = &types.Delete{
			TableName: table, Key: at.key(),
			ConditionExpression: on.text, ExpressionAttributeNames: on.names, ExpressionAttributeValues: on.values,
		}
	default:
		i.ConditionCheck = &types.ConditionCheck{
			TableName: table, Key: at.key(),
			ConditionExpression: on.text, ExpressionAttributeNames: on.names, ExpressionAttributeValues: on.values,
		}
	}
	return i
}

// atOnce is how many requests one call makes concurrently.
const atOnce = 16

// errAgain means that a transaction must be retried: another one was writing one of its rows, or
// DynamoDB throttled it.
var errAgain = errors.New("another transaction is writing the same rows")

// tries is how often a transaction is retried before it fails.
const tries = 50

// transact writes all items or none. It returns the items whose conditions did not hold. The SDK
// adds a token to every call, so that a retried request takes effect only once.
func (t *tables) transact(ctx context.Context, items []types.TransactWriteItem) (unmet []int, err error) {
	_, err = t.do.transact(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
	canceled, is := errors.AsType[*types.TransactionCanceledException](err)
	if !is {
		return nil, t.fault(err)
	}
	again := false
	for i, reason := range canceled.CancellationReasons {
		switch aws.ToString(reason.Code) {
		case "", "None":
		case "ConditionalCheckFailed":
			unmet = append(unmet, i)
		case "TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded":
			again = true
		default:
			return nil, t.fault(err) // it would be rejected again
		}
	}
	if again || len(unmet) == 0 {
		return nil, errAgain
	}
	return unmet, nil
}

// put writes a row unconditionally.
func (t *tables) put(ctx context.Context, at address, r Row) error {
	if err := t.open(); err != nil {
		return err
	}
	r["PK"], r["SK"] = text(at.pk), text(at.sk)
	_, err := t.do.put(ctx, &dynamodb.PutItemInput{TableName: t.table(at.table), Item: r})
	return t.fault(err)
}

var retries = backoff.Doubling{First: 20 * time.Millisecond, Most: time.Second}

// pause waits before a retry: not at all the first time, then longer each time.
func pause(ctx context.Context, try int) error {
	if try == 0 {
		return ctx.Err()
	}
	wait := retries.After(try)
	return row.Pause(ctx, wait/2+rand.N(wait/2)) // jitter, so that colliding transactions do not collide again
}

// unmet reports whether the condition of a single write did not hold.
func unmet(err error) bool {
	_, is := errors.AsType[*types.ConditionalCheckFailedException](err)
	return is
}

// busy reports whether a single write must be sent again: a transaction was writing its row, or DynamoDB
// throttled it longer than the SDK retries.
func busy(err error) bool {
	said, is := errors.AsType[smithy.APIError](err)
	if !is {
		return false
	}
	switch said.ErrorCode() {
	case "TransactionConflictException", "ProvisionedThroughputExceededException", "ThrottlingException":
		return true
	}
	return false
}

// fault explains a DynamoDB error, and wraps it.
func (t *tables) fault(err error) error {
	if err == nil {
		return nil
	}
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		return fmt.Errorf("a table or an index of environment %s does not exist in %s (want %s and the others): "+
			"check the name, the region and what is deployed: %w",
			t.environment, t.region, TableName(t.environment, Control), err)
	}
	said, refused := errors.AsType[smithy.APIError](err)
	if !refused {
		return err
	}
	switch code := said.ErrorCode(); {
	case code == "AccessDeniedException":
		return fmt.Errorf("this AWS identity is not allowed to do that on the tables of environment %s: %w",
			t.environment, err)
	case code == "UnrecognizedClientException", code == "ExpiredTokenException", code == "InvalidSignatureException":
		return fmt.Errorf("AWS rejects these credentials; they may have expired, or belong to another account: %w", err)
	case code == "ValidationException" && strings.Contains(said.ErrorMessage(), "size"):
		return fmt.Errorf("a row is larger than 400 KB, the most that DynamoDB stores: %w", err)
	default:
		return err
	}
}
