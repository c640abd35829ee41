package dynamo

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/interlock-go/interlock/internal/store"
)

const (
	mostGets     = 100 // how many rows one call reads
	getsUnderWay = 2   // how many calls read rows at once; what is asked for meanwhile goes together
)

// wanted is a row that somebody asks for.
type wanted struct {
	at address
	by *asking
}

// asking is one call of rows on its way.
type asking struct {
	ctx  context.Context
	done chan struct{}

	mu    sync.Mutex
	left  int
	found map[address]Row
	err   error
}

func newGets() *store.Gatherer[wanted] {
	return store.NewGatherer(getsUnderWay, func(waiting []wanted) int { return min(len(waiting), mostGets) })
}

// row reads one row, consistently; nil if it is not there.
func (s *Store) row(ctx context.Context, at address) (Row, error) {
	found, err := s.rows(ctx, []address{at})
	return found[at], err
}

// rows reads many, consistently, each as it is at some moment of the call. Those that are not there are left out; those that are
// must not be changed, since others may have asked for them too.
func (s *Store) rows(ctx context.Context, at []address) (map[address]Row, error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	a := &asking{ctx: ctx, done: make(chan struct{}), found: map[address]Row{}}
	var all []wanted
	asked := map[address]bool{}
	for _, one := range at {
		if !asked[one] {
			asked[one] = true
			all = append(all, wanted{one, a})
		}
	}
	if len(all) == 0 {
		return a.found, nil
	}
	a.left = len(all)
	s.gets.Take(s.getTogether, all...)
	select {
	case <-a.done:
		return a.found, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// answer takes note of one row; nil if it is not there.
func (a *asking) answer(at address, row Row, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if row != nil {
		a.found[at] = row
	}
	if err != nil && a.err == nil {
		a.err = err
	}
	if a.left--; a.left == 0 {
		close(a.done)
	}
}

// getTogether reads the rows of several callers. A key that DynamoDB will not have is the trouble of who asked for it alone.
func (s *Store) getTogether(all []wanted) {
	of := map[*asking][]address{}
	for _, w := range all {
		of[w.by] = append(of[w.by], w.at)
	}
	found, err := s.get(of)
	for a, own := range of {
		mine, problem := found, err
		if malformed(err) && len(of) > 1 {
			mine, problem = s.get(map[*asking][]address{a: own})
		}
		for _, at := range own {
			a.answer(at, mine[at], problem)
		}
	}
}

func malformed(err error) bool {
	said, refused := errors.AsType[smithy.APIError](err)
	return refused && said.ErrorCode() == "ValidationException"
}

// get reads rows for as long as anybody waits for them.
func (s *Store) get(of map[*asking][]address) (map[address]Row, error) {
	var ctx context.Context
	var end context.CancelFunc
	waiting := atomic.Int64{}
	waiting.Store(int64(len(of)))
	found := map[address]Row{}
	for a, at := range of {
		if ctx == nil {
			ctx, end = context.WithCancel(context.WithoutCancel(a.ctx))
			defer end()
		}
		defer context.AfterFunc(a.ctx, func() {
			if waiting.Add(-1) == 0 {
				end()
			}
		})()
		for _, one := range at {
			found[one] = nil
		}
	}
	if len(found) > 1 {
		return found, s.getMany(ctx, found)
	}
	for at := range found {
		out, err := s.do.get(ctx, &dynamodb.GetItemInput{TableName: s.table(at.table), Key: at.key(), ConsistentRead: aws.Bool(true)})
		if err != nil {
			return nil, s.fault(err)
		}
		found[at] = out.Item
	}
	return found, nil
}

// getMany fills in as many rows as one call takes, and asks again for what it left out.
func (s *Store) getMany(ctx context.Context, found map[address]Row) error {
	tables := map[string]string{} // by full name
	ask := map[string]types.KeysAndAttributes{}
	for a := range found {
		full := *s.table(a.table)
		tables[full] = a.table
		keys := ask[full]
		keys.ConsistentRead = aws.Bool(true)
		keys.Keys = append(keys.Keys, a.key())
		ask[full] = keys
	}
	for try := 0; len(ask) > 0; try++ {
		out, err := s.do.batchGet(ctx, &dynamodb.BatchGetItemInput{RequestItems: ask})
		if err != nil {
			return s.fault(err)
		}
		for full, items := range out.Responses {
			for _, item := range items {
				found[Row(item).at(tables[full])] = item
			}
		}
		if ask = out.UnprocessedKeys; len(ask) > 0 {
			if err := pause(ctx, try); err != nil {
				return err
			}
		}
	}
	return nil
}
