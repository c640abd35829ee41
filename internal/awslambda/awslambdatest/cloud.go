package awslambdatest

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"
)

// cloud fakes the services that the functions call, in AWS's own protocols: Step Functions,
// Scheduler, EventBridge and Lambda. It stores the requests for the world to act on.
type cloud struct {
	*httptest.Server
	now     func() time.Time
	machine *machine
	fault   Fault

	mu      sync.Mutex
	entries map[string]entry
	made    map[string]bool // every schedule ever created
	sent    []message
	bus     []Published
	counts  map[string]int
	calls   map[string]func(payload []byte) ([]byte, error) // functions that others call synchronously
}

// Fault decides what goes wrong with the n-th call of an operation.
type Fault func(operation string, n int) Trouble

// Trouble is a way in which a call can go wrong.
type Trouble string

// The ways.
const (
	NoTrouble Trouble = ""
	Throttled Trouble = "throttled" // the call is rejected
	Lost      Trouble = "lost"      // the call takes effect, but the response is an error
	Partly    Trouble = "partly"    // half of the call takes effect
)

// entry is a one-time schedule.
type entry struct {
	name   string
	at     time.Time
	target string
	input  string
	tries  int
}

// message is an asynchronous call of a function.
type message struct {
	function string
	payload  []byte
}

// Published is an event on the bus.
type Published struct {
	Source     string
	DetailType string
	Detail     string
	Time       float64
	Resources  []string
}

func newCloud(t testing.TB, now func() time.Time, m *machine) *cloud {
	c := &cloud{now: now, machine: m, entries: map[string]entry{}, made: map[string]bool{}, counts: map[string]int{}, calls: map[string]func([]byte) ([]byte, error){}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /schedules/{name}", c.operation("CreateSchedule", c.createSchedule))
	mux.HandleFunc("PUT /schedules/{name}", c.operation("UpdateSchedule", c.updateSchedule))
	mux.HandleFunc("DELETE /schedules/{name}", c.operation("DeleteSchedule", c.deleteSchedule))
	mux.HandleFunc("POST /2015-03-31/functions/{name}/invocations", c.operation("Invoke", c.invoke))
	mux.HandleFunc("POST /{$}", func(w http.ResponseWriter, r *http.Request) {
		switch target := r.Header.Get("X-Amz-Target"); target {
		case "AWSStepFunctions.StartExecution":
			c.operation("StartExecution", c.startExecution)(w, r)
		case "AWSEvents.PutEvents":
			c.operation("PutEvents", c.putEvents)(w, r)
		default:
			t.Errorf("the operation %q is not implemented", target)
			refuse(w, http.StatusBadRequest, "UnknownOperationException")
		}
	})
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

func (c *cloud) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what]++
}

// operation counts calls and injects faults.
func (c *cloud) operation(name string, do func(r *http.Request, body []byte, partly bool) (any, string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			refuse(w, http.StatusBadRequest, "SerializationException")
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.counts[name]++
		trouble := NoTrouble
		if c.fault != nil {
			trouble = c.fault(name, c.counts[name])
		}
		if trouble == Throttled {
			refuse(w, http.StatusTooManyRequests, "ThrottlingException")
			return
		}
		out, code := do(r, body, trouble == Partly)
		switch {
		case trouble == Lost:
			refuse(w, http.StatusInternalServerError, "InternalFailure")
		case code != "":
			refuse(w, http.StatusBadRequest, code)
		default:
			w.Header().Set("Content-Type", "application/x-amz-json-1.1")
			if raw, is := out.(json.RawMessage); is {
				_, _ = w.Write(raw)
				return
			}
			_ = json.NewEncoder(w).Encode(out)
		}
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	w.Header().Set("X-Amzn-Errortype", code)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": code, "message": code})
}

func (c *cloud) startExecution(_ *http.Request, body []byte, _ bool) (any, string) {
	var in struct{ StateMachineArn, Name, Input string }
	if json.Unmarshal(body, &in) != nil || in.StateMachineArn != machineARN || len(in.Name) > 80 {
		return nil, "ValidationException"
	}
	since, spent, err := c.machine.start(in.Name, in.Input, c.now())
	switch {
	case err != nil:
		return nil, "InternalFailure"
	case spent:
		return nil, "ExecutionAlreadyExists"
	}
	return map[string]any{"executionArn": machineARN + ":" + in.Name, "startDate": float64(since.UnixMilli()) / 1000}, ""
}

func (c *cloud) createSchedule(r *http.Request, body []byte, _ bool) (any, string) {
	if _, there := c.entries[r.PathValue("name")]; there {
		return nil, "ConflictException"
	}
	return c.putSchedule(r, body)
}

func (c *cloud) updateSchedule(r *http.Request, body []byte, _ bool) (any, string) {
	if _, there := c.entries[r.PathValue("name")]; !there {
		return nil, "ResourceNotFoundException"
	}
	return c.putSchedule(r, body)
}

func (c *cloud) putSchedule(r *http.Request, body []byte) (any, string) {
	var in struct {
		GroupName, ScheduleExpression, ActionAfterCompletion string
		FlexibleTimeWindow                                   struct{ Mode string }
		Target                                               struct{ Arn, RoleArn, Input string }
	}
	name := r.PathValue("name")
	if json.Unmarshal(body, &in) != nil || in.GroupName == "" || in.ActionAfterCompletion != "DELETE" || in.FlexibleTimeWindow.Mode != "OFF" || in.Target.RoleArn == "" || len(name) > 64 {
		return nil, "ValidationException"
	}
	at, err := time.Parse("at(2006-01-02T15:04:05)", in.ScheduleExpression)
	if err != nil {
		return nil, "ValidationException"
	}
	c.entries[name], c.made[name] = entry{name: name, at: at, target: in.Target.Arn, input: in.Target.Input}, true
	return map[string]string{"ScheduleArn": "arn:aws:scheduler:eu-west-1:123456789012:schedule/" + in.GroupName + "/" + name}, ""
}

func (c *cloud) deleteSchedule(r *http.Request, _ []byte, _ bool) (any, string) {
	name := r.PathValue("name")
	if _, there := c.entries[name]; !there {
		return nil, "ResourceNotFoundException"
	}
	delete(c.entries, name)
	return map[string]string{}, ""
}

func (c *cloud) putEvents(_ *http.Request, body []byte, partly bool) (any, string) {
	var in struct{ Entries []Published }
	if json.Unmarshal(body, &in) != nil || len(in.Entries) == 0 || len(in.Entries) > 10 {
		return nil, "ValidationException"
	}
	type result struct {
		EventId, ErrorCode, ErrorMessage *string `json:",omitempty"`
	}
	out := struct {
		FailedEntryCount int
		Entries          []result
	}{}
	id, code := "taken", "ThrottlingException"
	for i, e := range in.Entries {
		if partly && i == len(in.Entries)-1 {
			out.FailedEntryCount++
			out.Entries = append(out.Entries, result{ErrorCode: &code, ErrorMessage: &code})
			continue
		}
		c.bus = append(c.bus, e)
		out.Entries = append(out.Entries, result{EventId: &id})
	}
	return out, ""
}

func (c *cloud) invoke(r *http.Request, body []byte, _ bool) (any, string) {
	function := r.PathValue("name")
	if decoded, err := base64.URLEncoding.DecodeString(function); err == nil && strings.Contains(string(decoded), ":function:") {
		function = string(decoded)
	}
	if r.Header.Get("X-Amz-Invocation-Type") == "Event" {
		c.sent = append(c.sent, message{function, body})
		return map[string]string{}, ""
	}
	do := c.calls[path.Base(function)]
	if do == nil {
		return nil, "ResourceNotFoundException"
	}
	c.mu.Unlock() // the function may call others
	out, err := do(body)
	c.mu.Lock()
	if err != nil {
		return nil, "ServiceException"
	}
	return json.RawMessage(out), ""
}

// due removes and returns the schedules that are due, soonest first.
func (c *cloud) due(now time.Time) []entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []entry
	for name, e := range c.entries {
		if !e.at.After(now) {
			all = append(all, e)
			delete(c.entries, name)
		}
	}
	sort.Slice(all, func(i, j int) bool {
		return all[i].at.Before(all[j].at) || all[i].at.Equal(all[j].at) && all[i].name < all[j].name
	})
	return all
}

// again puts back a schedule whose function call failed.
func (c *cloud) again(e entry, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.at = at
	e.tries++
	c.entries[e.name] = e
}

// next is when the next entry is due, or the next timer of an execution; zero if neither is.
func (c *cloud) next() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := c.machine.next
	for _, e := range c.entries {
		if next.IsZero() || e.at.Before(next) {
			next = e.at
		}
	}
	return next
}

// takeSent removes and returns the oldest asynchronous call.
func (c *cloud) takeSent() (message, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.sent) == 0 {
		return message{}, false
	}
	m := c.sent[0]
	c.sent = c.sent[1:]
	return m, true
}

// takeBus removes and returns the published events.
func (c *cloud) takeBus() []Published {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.bus
	c.bus = nil
	return all
}
