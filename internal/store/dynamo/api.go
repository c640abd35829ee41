package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// operation is a method of the SDK's client. The store keeps those that it needs instead of the client: a value that
// reflection could reach would take all methods of its type into the binary, and there are dozens.
type operation[In, Out any] = func(context.Context, *In, ...func(*dynamodb.Options)) (*Out, error)

type calls struct {
	get        operation[dynamodb.GetItemInput, dynamodb.GetItemOutput]
	put        operation[dynamodb.PutItemInput, dynamodb.PutItemOutput]
	update     operation[dynamodb.UpdateItemInput, dynamodb.UpdateItemOutput]
	drop       operation[dynamodb.DeleteItemInput, dynamodb.DeleteItemOutput]
	query      operation[dynamodb.QueryInput, dynamodb.QueryOutput]
	batchGet   operation[dynamodb.BatchGetItemInput, dynamodb.BatchGetItemOutput]
	batchWrite operation[dynamodb.BatchWriteItemInput, dynamodb.BatchWriteItemOutput]
	transact   operation[dynamodb.TransactWriteItemsInput, dynamodb.TransactWriteItemsOutput]
}

func callsOf(c *dynamodb.Client) calls {
	return calls{
		get: c.GetItem, put: c.PutItem, update: c.UpdateItem, drop: c.DeleteItem, query: c.Query,
		batchGet: c.BatchGetItem, batchWrite: c.BatchWriteItem, transact: c.TransactWriteItems,
	}
}

// mostWrites is the most that one call takes.
const mostWrites = 25

// address is where a row is.
type address struct {
	table  string
	pk, sk string
}

func (a address) key() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"PK": text(a.pk), "SK": text(a.sk)}
}

func (s *Store) table(name string) *string { return aws.String(TableName(s.environment, name)) }

// write puts and drops rows, without conditions and each for itself.
func (s *Store) write(ctx context.Context, requests map[string][]types.WriteRequest) error {
	if err := s.open(); err != nil {
		return err
	}
	left := map[string][]types.WriteRequest{}
	for table, list := range requests {
		left[*s.table(table)] = list
	}
	for try := 0; len(left) > 0; {
		some, rest := firstOf(left)
		out, err := s.do.batchWrite(ctx, &dynamodb.BatchWriteItemInput{RequestItems: some})
		if err != nil {
			return s.fault(err)
		}
		left = rest
		if len(out.UnprocessedItems) > 0 {
			for table, list := range out.UnprocessedItems {
				left[table] = append(left[table], list...)
			}
			if err := pause(ctx, try); err != nil {
				return err
			}
			try++
		}
	}
	return nil
}

// firstOf splits off as many requests as one call takes.
func firstOf(all map[string][]types.WriteRequest) (some, rest map[string][]types.WriteRequest) {
	some, rest = map[string][]types.WriteRequest{}, map[string][]types.WriteRequest{}
	room := mostWrites
	for table, list := range all {
		n := min(room, len(list))
		if n > 0 {
			some[table] = list[:n]
		}
		if n < len(list) {
			rest[table] = list[n:]
		}
		room -= n
	}
	return some, rest
}

// pause waits before something that the service did not get to, or that somebody else was quicker with, is asked of it again:
// not at all the first time, and then ever longer.
func pause(ctx context.Context, try int) error {
	if try == 0 {
		return ctx.Err()
	}
	t := time.NewTimer(min(time.Second, 10*time.Millisecond<<min(try, 10)))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unmet says that the condition of a single write did not hold.
func unmet(err error) bool {
	_, is := errors.AsType[*types.ConditionalCheckFailedException](err)
	return is
}

// fault says in words what a refusal means. What errors.Is finds stays.
func (s *Store) fault(err error) error {
	if err == nil {
		return nil
	}
	if _, missing := errors.AsType[*types.ResourceNotFoundException](err); missing {
		return fmt.Errorf("a table or an index of environment %s is not there in %s (want %s and its like): look at the name, the region and what is deployed: %w",
			s.environment, s.region, TableName(s.environment, Control), err)
	}
	said, refused := errors.AsType[smithy.APIError](err)
	if !refused {
		return err
	}
	switch code := said.ErrorCode(); {
	case code == "AccessDeniedException":
		return fmt.Errorf("AWS does not let this identity do that on the tables of environment %s: %w", s.environment, err)
	case code == "UnrecognizedClientException" || code == "ExpiredTokenException" || code == "InvalidSignatureException":
		return fmt.Errorf("AWS does not take these credentials; they may have expired, or be another account's: %w", err)
	case code == "ValidationException" && strings.Contains(said.ErrorMessage(), "size"):
		return fmt.Errorf("a row is larger than the 400 KB that DynamoDB takes: %w", err)
	default:
		return err
	}
}
