package awslambda_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/awslambda/awslambdatest"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/run"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamotest"
)

// atOnce retries a call as the SDK does, without waiting.
func atOnce() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.RateLimiter = ratelimit.None
		o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
	})
}

// once does not retry: the function sees the error.
func once() aws.Retryer { return aws.NopRetryer{} }

func TestTableFaultsChangeNoEvents(t *testing.T) {
	if testing.Short() {
		t.Skip("plays a morning four times")
	}
	reads, batches := []string{"GetItem", "Query", "BatchGetItem"}, []string{"BatchGetItem", "TransactWriteItems"}
	writes, single := []string{"PutItem", "UpdateItem", "TransactWriteItems"}, []string{"PutItem", "UpdateItem"}
	want := calm(t)
	type fault struct {
		trouble awslambdatest.Trouble
		every   int // n-th call of an operation fails
		of      []string
	}
	for name, c := range map[string]struct {
		retryer func() aws.Retryer
		faults  []fault
	}{
		"throttled calls, batches done in part, rows of others": {once, []fault{
			{awslambdatest.Throttled, 41, reads}, {awslambdatest.Throttled, 13, writes}, {awslambdatest.Partly, 3, batches},
		}},
		"writes without an answer":           {once, []fault{{awslambdatest.Lost, 13, writes[2:]}, {awslambdatest.Lost, 5, single}}},
		"writes without an answer, repeated": {atOnce, []fault{{awslambdatest.Lost, 3, writes}}},
		"functions killed after a write":     {once, []fault{{awslambdatest.Killed, 17, writes[2:]}, {awslambdatest.Killed, 5, single}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			troubled := map[string]int{} // by trouble and operation
			environment, config := dynamotest.Streaming(t)
			config.Retryer = c.retryer
			got := history(t, awslambdatest.Options{Wrong: tolerated, Tables: func(now func() time.Time) awslambdatest.Tables {
				local := awslambdatest.NewLocal(t, environment, config, now)
				local.Trouble(func(operation string, n int) awslambdatest.Trouble {
					for _, f := range c.faults {
						if slices.Contains(f.of, operation) && n%f.every == 0 {
							mu.Lock()
							defer mu.Unlock()
							troubled[string(f.trouble)+operation]++
							return f.trouble
						}
					}
					return awslambdatest.NoTrouble
				})
				return local
			}})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the events differ (-want +got):\n%s", diff)
			}
			for _, f := range c.faults {
				for _, operation := range f.of {
					if troubled[string(f.trouble)+operation] == 0 {
						t.Errorf("no call of %s was %s", operation, f.trouble)
					}
				}
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// firstThree makes the first three calls of an operation fail.
func firstThree(of string, trouble awslambdatest.Trouble) awslambdatest.Fault {
	return func(operation string, n int) awslambdatest.Trouble {
		if operation == of && n <= 3 {
			return trouble
		}
		return awslambdatest.NoTrouble
	}
}

func TestLeaseIsHeldWhateverTroubleItsWriteHas(t *testing.T) {
	for name, c := range map[string]struct {
		retryer func() aws.Retryer
		trouble awslambdatest.Trouble
		want    int
	}{
		"throttled":                    {once, awslambdatest.Throttled, 1},
		"its answer lost, sent again":  {atOnce, awslambdatest.Lost, 1},
		"its answer lost, as it stays": {once, awslambdatest.Lost, 0},
	} {
		environment, config := dynamotest.Streaming(t)
		config.Retryer = c.retryer
		tables := awslambdatest.NewLocal(t, environment, config, func() time.Time { return dawn })
		b := store.Batch{ID: "one task"}
		b.Schedule(store.Task{ID: "fire/orders", Kind: store.Fire, Pipeline: "orders", Due: dawn})
		must(t, tables.Store().Commit(t.Context(), b, dawn))
		tables.Trouble(func(operation string, n int) awslambdatest.Trouble {
			if operation == "PutItem" && n == 1 {
				return c.trouble
			}
			return awslambdatest.NoTrouble
		})
		q := store.ClaimQuery{Replica: "aws", Task: "fire/orders", Limit: 1, Lease: time.Minute}
		claims, err := tables.Store().Claim(t.Context(), q, dawn)
		if len(claims) != c.want || (err == nil) != (c.want == 1) {
			t.Errorf("%s: claimed %+v, %v; want %d", name, claims, err, c.want)
		}
		if c.want == 0 {
			continue
		}
		kept, err := tables.Store().Renew(t.Context(), []store.Lease{claims[0].Lease}, time.Minute, dawn)
		if err != nil || len(kept) != 1 {
			t.Errorf("%s: renewed %+v, %v", name, kept, err)
		}
	}
}

func TestUnprocessedKeysAreReadAgain(t *testing.T) {
	environment, c := dynamotest.Streaming(t)
	tables := awslambdatest.NewLocal(t, environment, c, func() time.Time { return dawn })
	var keys []run.Key
	for n := range 10 {
		id := pipeline.ID(fmt.Sprintf("p%d", n))
		key, err := run.ParseKey(string(id) + "/stream/2026-03-03")
		must(t, err)
		r, err := run.New(key, run.Opening{Cause: run.CauseCron, At: dawn, Limits: run.Limits{
			Window: time.Hour, Interval: time.Minute, PollInterval: time.Minute, PollWindow: time.Hour, StartTries: 3,
		}})
		must(t, err)
		b := store.Batch{ID: "open " + string(id)}
		b.Create(r)
		must(t, tables.Store().Commit(t.Context(), b, dawn))
		keys = append(keys, r.Key)
	}

	tables.Trouble(firstThree("BatchGetItem", awslambdatest.Partly))
	found, err := tables.Store().RunsAt(t.Context(), keys)
	if err != nil || len(found) != len(keys) {
		t.Errorf("%d runs, %v; want %d", len(found), err, len(keys))
	}
}
