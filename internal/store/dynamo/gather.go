package dynamo

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/row"
)

const (
	getsPerCall  = 100         // rows per call
	callsAtOnce  = 2           // concurrent calls; reads that arrive meanwhile are batched
	longestCall  = time.Minute // timeout of a call that serves several callers
	maxPK, maxSK = 2048, 1024  // maximum key lengths in bytes
)

// Get returns each row as of some moment during the call.
func (e *Engine) Get(ctx context.Context, refs []row.Ref) ([]row.Row, error) {
	at := make([]address, len(refs))
	for i, ref := range refs {
		if at[i] = addressOf(ref); ref.Kind == row.Events {
			at[i] = logAddress(ref.Key)
		}
	}
	found, err := e.rows(ctx, at)
	if err != nil {
		return nil, err
	}
	all := make([]row.Row, len(refs))
	for i, ref := range refs {
		if all[i], err = found[at[i]].row(ref.Kind); err != nil {
			return nil, err
		}
		if ref.Kind == row.Events && all[i].Part != ref.Part {
			all[i] = row.Row{}
		}
		all[i].Ref = ref
	}
	return all, nil
}

// row converts a row that the engine wrote; the zero value for a row that does not exist or that
// others wrote.
func (r Row) row(k row.Kind) (row.Row, error) {
	if k == row.Events {
		return r.event()
	}
	version := r.number("version")
	if version == 0 {
		return row.Row{}, nil
	}
	out := r.name(k)
	out.Version, out.Tag = version, r.text("tag")
	if ttl := r.number(TTL); ttl > 0 {
		out.Expires = time.Unix(ttl, 0).UTC()
	}
	var err error
	out.Body, err = r.unpack("json")
	return out, err
}

// name converts the index entry of a row: its ref and its place.
func (r Row) name(k row.Kind) row.Row {
	out := row.Row{Ref: r.ref(k)}
	for i, p := range places {
		if list := r.text(p.list); list != "" {
			out.Places[i] = row.Place{List: list[len(k)+1:], Key: r.text(p.key)[len(list)+1:]}
		}
	}
	return out
}

// reading is a pending read of up to getsPerCall rows.
type reading struct {
	ctx  context.Context
	at   []address
	done chan struct{}

	found map[address]Row // results of this read and of others in the same call
	err   error
}

// newGets batches pending reads into one call, as far as their rows fit.
func newGets() *store.Gatherer[*reading] {
	return store.NewGatherer(callsAtOnce, func(waiting []*reading) int {
		rows := 0
		for i, r := range waiting {
			if rows += len(r.at); rows > getsPerCall {
				return i
			}
		}
		return len(waiting)
	})
}

// getRow reads one row consistently; nil if it does not exist.
func (t *tables) getRow(ctx context.Context, at address) (Row, error) {
	found, err := t.rows(ctx, []address{at})
	return found[at], err
}

// rows reads rows consistently, batched with the reads of other callers. Missing rows are nil.
// Callers must not modify the result.
func (t *tables) rows(ctx context.Context, at []address) (map[address]Row, error) {
	if err := t.open(); err != nil {
		return nil, err
	}
	found := map[address]Row{}
	var wanted []address
	for _, one := range at {
		if one.pk == "" || one.sk == "" || len(one.pk) > maxPK || len(one.sk) > maxSK {
			// It must not fail the reads of other callers.
			return nil, fmt.Errorf("read %.60q %.60q: a key is empty or too long", one.pk, one.sk)
		}
		if _, again := found[one]; !again {
			found[one] = nil
			wanted = append(wanted, one)
		}
	}
	var reads []*reading
	for some := range slices.Chunk(wanted, getsPerCall) {
		reads = append(reads, &reading{ctx: ctx, at: some, done: make(chan struct{})})
	}
	t.gets.Take(t.getTogether, reads...)
	for _, r := range reads {
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if r.err != nil {
			return nil, r.err
		}
		for _, one := range r.at {
			found[one] = r.found[one]
		}
	}
	return found, nil
}

// getTogether makes one call for several reads, even if some callers no longer wait.
func (t *tables) getTogether(reads []*reading) {
	ctx, end := context.WithTimeout(context.WithoutCancel(reads[0].ctx), longestCall)
	defer end()
	found := map[address]Row{}
	for _, r := range reads {
		for _, at := range r.at {
			found[at] = nil
		}
	}
	err := t.get(ctx, found)
	for _, r := range reads {
		r.found, r.err = found, err
		close(r.done)
	}
}

// get fills in rows. It uses GetItem for a single row, because some functions may call nothing
// else.
func (t *tables) get(ctx context.Context, found map[address]Row) error {
	if len(found) > 1 {
		return t.getMany(ctx, found)
	}
	for at := range found {
		out, err := t.do.get(ctx, &dynamodb.GetItemInput{
			TableName: t.table(at.table), Key: at.key(), ConsistentRead: aws.Bool(true),
		})
		if err != nil {
			return t.fault(err)
		}
		found[at] = out.Item
	}
	return nil
}

// getMany fills in as many rows as one call reads, and retries unprocessed keys.
func (t *tables) getMany(ctx context.Context, found map[address]Row) error {
	names := map[string]string{} // tables by full name
	ask := map[string]types.KeysAndAttributes{}
	for at := range found {
		full := *t.table(at.table)
		names[full] = at.table
		keys := ask[full]
		keys.ConsistentRead = aws.Bool(true)
		keys.Keys = append(keys.Keys, at.key())
		ask[full] = keys
	}
	for try := 0; len(ask) > 0; try++ {
		out, err := t.do.batchGet(ctx, &dynamodb.BatchGetItemInput{RequestItems: ask})
		if err != nil {
			return t.fault(err)
		}
		for full, items := range out.Responses {
			for _, item := range items {
				found[Row(item).at(names[full])] = item
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
