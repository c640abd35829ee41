package awslambdatest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/pipeline"
	"github.com/interlock-go/interlock/internal/sensor"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// Local is the tables and streams of a local DynamoDB.
type Local struct {
	testing.TB
	data        *dynamo.Store
	client      *dynamodb.Client
	endpoint    string
	region      string
	environment string
	now         func() time.Time
	calls       *counting
	metered     *metered
	troubled    *troubled
	config      aws.Config // of the functions

	streams []*stream
	counted map[string]Records // by table
	records []json.RawMessage
	files   map[string]bool // deployed files, by partition key
}

// keepEvents is long enough that DynamoDB Local, whose clock is not that of the world, deletes no event.
const keepEvents = 100 * 365 * 24 * time.Hour

// stream is a table's stream and the position up to which it was read.
type stream struct{ table, arn, shard, iterator, last string }

// NewLocal creates the empty tables of an environment.
func NewLocal(t testing.TB, environment string, c aws.Config, now func() time.Time) *Local {
	t.Helper()
	calls, units := &counting{n: map[string]int{}}, &metered{client: dynamodb.NewFromConfig(c)}
	own, functions := c, &troubled{calls: calls}
	own.HTTPClient, own.Retryer, c.HTTPClient = calls, nil, functions
	c.APIOptions = append(slices.Clone(c.APIOptions), units.add)
	l := &Local{
		TB: t, calls: calls, metered: units, troubled: functions, config: c, data: dynamo.New(c, environment, dynamo.Options{KeepEvents: keepEvents}), client: dynamodb.NewFromConfig(own),
		endpoint: aws.ToString(c.BaseEndpoint), region: c.Region, environment: environment, now: now, files: map[string]bool{}, counted: map[string]Records{},
	}
	for _, table := range dynamo.Tables() {
		if table.Stream {
			l.streams = append(l.streams, l.stream(table.Name))
		}
	}
	return l
}

// counting counts calls by operation.
type counting struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counting) Do(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	c.n[operationOf(r)]++
	c.mu.Unlock()
	return http.DefaultClient.Do(r)
}

// Calls returns how often each DynamoDB operation was called.
func (l *Local) Calls() map[string]int {
	l.calls.mu.Lock()
	defer l.calls.mu.Unlock()
	return maps.Clone(l.calls.n)
}

// Records is how many records a stream had, and how many of them passed its filters.
type Records struct{ Written, Delivered int }

// Records returns the counts of each table's stream.
func (l *Local) Records() map[string]Records { return maps.Clone(l.counted) }

// Store returns the store on the tables.
func (l *Local) Store() store.Store { return l.data }

// Streams returns the reader of the tables' stream records.
func (l *Local) Streams() awslambda.Streams { return awslambda.Tables{Store: l.data} }

// ask calls the DynamoDB Streams API without the SDK: its answers are byte for byte what Lambda
// delivers to functions.
func (l *Local) ask(operation string, in map[string]any, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPost, l.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Target", "DynamoDBStreams_20120810."+operation)
	r.Header.Set("Authorization", fmt.Sprintf(
		"AWS4-HMAC-SHA256 Credential=interlock/20260303/%s/dynamodb/aws4_request, SignedHeaders=host, Signature=0", l.region))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s: %s", operation, answer.Status, text)
	}
	return json.Unmarshal(text, out)
}

// stream finds the stream of a table and starts at its beginning.
func (l *Local) stream(name string) *stream {
	l.Helper()
	table := dynamo.TableName(l.environment, name)
	var found struct{ Streams []struct{ StreamArn string } }
	if err := l.ask("ListStreams", map[string]any{"TableName": table}, &found); err != nil || len(found.Streams) != 1 {
		l.Fatalf("table %s has %d streams: %v", table, len(found.Streams), err)
	}
	s := &stream{table: name, arn: found.Streams[0].StreamArn}
	var described struct {
		StreamDescription struct{ Shards []struct{ ShardId string } }
	}
	if err := l.ask("DescribeStream", map[string]any{"StreamArn": s.arn}, &described); err != nil || len(described.StreamDescription.Shards) == 0 {
		l.Fatalf("the stream of %s has no shards: %v", table, err)
	}
	s.shard = described.StreamDescription.Shards[0].ShardId
	if err := l.place(s); err != nil {
		l.Fatal(err)
	}
	return s
}

// place gets an iterator that continues after the last record read.
func (l *Local) place(s *stream) error {
	in := map[string]any{"StreamArn": s.arn, "ShardId": s.shard, "ShardIteratorType": "TRIM_HORIZON"}
	if s.last != "" {
		in["ShardIteratorType"], in["SequenceNumber"] = "AFTER_SEQUENCE_NUMBER", s.last
	}
	var out struct{ ShardIterator string }
	err := l.ask("GetShardIterator", in, &out)
	s.iterator = out.ShardIterator
	return err
}

// Batch returns the oldest records, with the world's current time as their creation time.
func (l *Local) Batch() []json.RawMessage {
	if len(l.records) == 0 {
		for _, s := range l.streams {
			l.read(s)
		}
	}
	return l.records[:min(batchSize, len(l.records))]
}

func (l *Local) read(s *stream) {
	var out struct {
		Records           []map[string]any
		NextShardIterator string
	}
	err := l.ask("GetRecords", map[string]any{"ShardIterator": s.iterator}, &out)
	if err != nil && strings.Contains(err.Error(), "TrimmedDataAccessException") { // sequence numbers have gaps, and the position may be in one
		if err = l.place(s); err == nil {
			err = l.ask("GetRecords", map[string]any{"ShardIterator": s.iterator}, &out)
		}
	}
	if err != nil {
		l.Fatal(err)
	}
	s.iterator = out.NextShardIterator
	for _, r := range out.Records {
		change, _ := r["dynamodb"].(map[string]any)
		s.last, _ = change["SequenceNumber"].(string)
		change["ApproximateCreationDateTime"] = l.now().Unix() // in whole seconds
		n := l.counted[s.table]
		n.Written++
		passed := passes(s.table, map[string]any(r))
		if passed {
			n.Delivered++
		}
		if l.counted[s.table] = n; !passed {
			continue
		}
		text, err := json.Marshal(r)
		if err != nil {
			l.Fatal(err)
		}
		l.records = append(l.records, text)
	}
}

// Handled removes the n oldest records.
func (l *Local) Handled(n int) { l.records = l.records[n:] }

// put writes a row in DynamoDB JSON.
func (l *Local) put(table, text string) error {
	var row dynamo.Row
	if err := json.Unmarshal([]byte(text), &row); err != nil {
		return err
	}
	_, err := l.client.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String(dynamo.TableName(l.environment, table)), Item: row})
	return err
}

// Put writes a row as an external writer does.
func (l *Local) Put(table, text string) {
	l.Helper()
	if err := l.put(table, text); err != nil {
		l.Fatal(err)
	}
}

// PutSensor writes a sensor's row as a producer does, with its fields in a map named data. The row
// also has a write time: DynamoDB Streams emits no record for an unchanged put.
func (l *Local) PutSensor(id pipeline.ID, key string, fields sensor.Fields, now time.Time) error {
	data, err := attribute(map[string]any(fields))
	if err != nil {
		return err
	}
	return l.put(dynamo.Control, fmt.Sprintf(`{"PK": {"S": "PIPELINE#%s"}, "SK": {"S": "SENSOR#%s"}, "data": %s, "writtenAt": {"S": %q}}`, id, key, data, now.Format(time.RFC3339Nano)))
}

// attribute encodes a value in DynamoDB JSON.
func attribute(v any) (string, error) {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for name, inner := range v {
			text, err := attribute(inner)
			if err != nil {
				return "", err
			}
			parts = append(parts, fmt.Sprintf("%q: %s", name, text))
		}
		return `{"M": {` + strings.Join(parts, ", ") + `}}`, nil
	case []any:
		var parts []string
		for _, inner := range v {
			text, err := attribute(inner)
			if err != nil {
				return "", err
			}
			parts = append(parts, text)
		}
		return `{"L": [` + strings.Join(parts, ", ") + `]}`, nil
	case string:
		return fmt.Sprintf(`{"S": %q}`, v), nil
	case bool:
		return fmt.Sprintf(`{"BOOL": %t}`, v), nil
	case nil:
		return `{"NULL": true}`, nil
	case int, int64, uint64, float64:
		text, err := json.Marshal(v)
		return fmt.Sprintf(`{"N": %q}`, text), err
	default:
		return "", fmt.Errorf("%T cannot be written", v)
	}
}

// PutFiles deploys files and removes earlier files that are not among them.
func (l *Local) PutFiles(f catalog.Files) error {
	now := map[string]bool{}
	for kind, sources := range map[string][]pipeline.Source{"PIPELINE": f.Pipelines, "CALENDAR": f.Calendars, "ARCHETYPE": f.Archetypes, "SOURCE": f.Sources} {
		for _, src := range sources {
			pk := kind + "#" + strings.TrimSuffix(src.File, ".yaml")
			now[pk] = true
			text, err := json.Marshal(string(src.Data))
			if err != nil {
				return err
			}
			if err := l.put(dynamo.Control, fmt.Sprintf(`{"PK": {"S": %q}, "SK": {"S": "CONFIG"}, "list": {"S": "FILE"}, "place": {"S": %q}, "config": {"S": %s}}`, pk, pk, text)); err != nil {
				return err
			}
		}
	}
	var errs []error
	for pk := range l.files {
		if !now[pk] {
			errs = append(errs, l.drop(pk))
		}
	}
	l.files = now
	return errors.Join(errs...)
}

func (l *Local) drop(pk string) error {
	return l.remove(dynamo.Control, fmt.Sprintf(`{"PK": {"S": %q}, "SK": {"S": "CONFIG"}}`, pk))
}

func (l *Local) remove(table, text string) error {
	var key dynamo.Row
	if err := json.Unmarshal([]byte(text), &key); err != nil {
		return err
	}
	_, err := l.client.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: aws.String(dynamo.TableName(l.environment, table)), Key: key})
	return err
}

// Delete deletes a row.
func (l *Local) Delete(table, key string) {
	l.Helper()
	if err := l.remove(table, key); err != nil {
		l.Fatal(err)
	}
}
