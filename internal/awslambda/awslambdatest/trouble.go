package awslambdatest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/interlock-go/interlock/internal/awslambda"
	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/dynamo"
)

// troubled is DynamoDB as the functions reach it: some of their calls go wrong. The world's own
// reads and writes bypass it.
type troubled struct {
	calls *counting

	mu    sync.Mutex
	fault Fault
	n     map[string]int
	dead  bool
}

// Killed means that a function dies right after a table call: the call takes effect, and every
// later one fails until the functions are rebuilt.
const Killed Trouble = "killed"

// Trouble injects faults into the functions' calls from now on. For a transaction, Partly means a
// conflict with another writer.
func (l *Local) Trouble(f Fault) {
	l.troubled.mu.Lock()
	defer l.troubled.mu.Unlock()
	l.troubled.fault, l.troubled.n = f, map[string]int{}
}

// next returns the fault of a call.
func (t *troubled) next(operation string) Trouble {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fault == nil {
		return NoTrouble
	}
	t.n[operation]++
	return t.fault(operation, t.n[operation])
}

// Died reports whether functions were killed since the last call. They then have to be rebuilt.
func (l *Local) Died() bool {
	l.troubled.mu.Lock()
	defer l.troubled.mu.Unlock()
	died := l.troubled.dead
	l.troubled.dead = false
	return died
}

// kill, with now, makes every call fail from now on. It reports whether calls failed before.
func (t *troubled) kill(now bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	was := t.dead
	t.dead = t.dead || now
	return was
}

func (t *troubled) Do(r *http.Request) (*http.Response, error) {
	operation := operationOf(r)
	if t.kill(false) {
		return nil, ErrKilled
	}
	switch t.next(operation) {
	case Killed:
		answer, err := t.calls.Do(r)
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		t.kill(true)
		return nil, ErrKilled
	case Throttled:
		return refusal(r, http.StatusBadRequest, `{"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", "message": "too much"}`), nil
	case Lost:
		answer, err := t.calls.Do(r)
		if err != nil {
			return nil, err
		}
		defer answer.Body.Close()
		return refusal(r, http.StatusInternalServerError, `{"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError", "message": "no answer"}`), nil
	case Partly:
		if operation == "TransactWriteItems" {
			return refusal(r, http.StatusBadRequest, `{"__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
				"CancellationReasons": [{"Code": "TransactionConflict", "Message": "somebody else"}]}`), nil
		}
		return t.half(r, operation)
	}
	return t.calls.Do(r)
}

func operationOf(r *http.Request) string {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return operation
}

func refusal(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

// Only returns the tables for a function whose role allows only one of them, and of the events only its
// partitions.
func (l *Local) Only(table string, f awslambda.Function) store.Store {
	c, role := l.config, &role{troubled: l.troubled}
	for _, other := range dynamo.Tables() {
		if other.Name != table {
			role.others = append(role.others, strconv.Quote(dynamo.TableName(l.environment, other.Name)))
		}
	}
	c.HTTPClient = role
	if table == dynamo.Events {
		c = WithRole(c, f)
	}
	return dynamo.New(c, l.environment, dynamo.Options{KeepEvents: keepEvents})
}

// role rejects calls for some tables.
type role struct {
	*troubled
	others []string // table names as they appear in a request
}

func (o *role) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	for _, other := range o.others {
		if bytes.Contains(body, []byte(other)) {
			return refusal(r, http.StatusBadRequest, `{"__type": "com.amazon.coral.service#AccessDeniedException", "message": "not for this role"}`), nil
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return o.troubled.Do(r)
}

// half carries out a batch call for some of its rows and returns the others as unprocessed.
func (t *troubled) half(r *http.Request, operation string) (*http.Response, error) {
	if operation != "BatchGetItem" {
		return nil, fmt.Errorf("%s cannot happen partly", operation)
	}
	var in struct{ RequestItems map[string]json.RawMessage }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	first, rest, err := halves(in.RequestItems)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(map[string]any{"RequestItems": first})
	if err != nil {
		return nil, err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer, err := t.calls.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		return answer, err
	}
	defer answer.Body.Close()
	out := map[string]json.RawMessage{}
	if err := json.NewDecoder(answer.Body).Decode(&out); err != nil {
		return nil, err
	}
	if out["UnprocessedKeys"], err = json.Marshal(rest); err != nil {
		return nil, err
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	return refusal(r, http.StatusOK, string(text)), nil
}

// halves splits the keys to be read from each table.
func halves(items map[string]json.RawMessage) (first, rest map[string]any, err error) {
	first, rest = map[string]any{}, map[string]any{}
	for table, text := range items {
		var reads struct {
			ConsistentRead bool
			Keys           []json.RawMessage
		}
		if err := json.Unmarshal(text, &reads); err != nil {
			return nil, nil, err
		}
		n, keys := (len(reads.Keys)+1)/2, reads.Keys
		reads.Keys = keys[:n]
		first[table] = reads
		if n < len(keys) {
			reads.Keys = keys[n:]
			rest[table] = reads
		}
	}
	return first, rest, nil
}
