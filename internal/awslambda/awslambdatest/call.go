package awslambdatest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/interlock-go/interlock/internal/awslambda"
)

// sent carries out one asynchronous call, and reports whether there was one.
func (w *World) sent() bool {
	m, there := w.cloud.takeSent()
	if there {
		_, _ = w.invoke(m.function, m.payload)
	}
	return there
}

// called carries out one task of an execution, and reports whether there was one.
func (w *World) called() bool {
	w.cloud.mu.Lock()
	c, there := w.cloud.machine.take()
	w.cloud.mu.Unlock()
	if !there {
		return false
	}
	out, err := w.invoke(c.Resource, c.Input)
	w.cloud.mu.Lock()
	defer w.cloud.mu.Unlock()
	if err := w.cloud.machine.answer(c, out, asFailure(err)); err != nil {
		w.Fatal(err)
	}
	return true
}

// asFailure converts an error to the form in which Lambda reports it.
func asFailure(err error) *failure {
	if err == nil {
		return nil
	}
	kind := reflect.TypeOf(err)
	if kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	message, _ := json.Marshal(map[string]string{"errorMessage": err.Error(), "errorType": kind.Name()})
	return &failure{Name: kind.Name(), Message: string(message)}
}

// invoke calls a function with a payload.
func (w *World) invoke(function string, payload []byte) ([]byte, error) {
	var out []byte
	var err error
	switch function {
	case streamRouterARN:
		err = w.invoked(awslambda.StreamRouter, func() (err error) {
			out, err = w.routed(payload)
			return err
		})
	case orchestratorARN:
		out, err = w.orchestrator(payload)
	case slaMonitorARN:
		err = w.invoked(awslambda.SLAMonitor, func() (err error) {
			out, err = handled(payload, w.sla.Deadlines)
			return err
		})
	default:
		err = fmt.Errorf("there is no function %s", function)
	}
	if w.buried() {
		out, err = nil, ErrKilled
	}
	w.note(function, payload, out, err)
	if err != nil {
		w.o.Wrong(function, err)
	}
	return out, err
}

func (w *World) orchestrator(payload []byte) (out []byte, err error) {
	err = w.invoked(awslambda.Orchestrator, func() (err error) {
		out, err = handled(payload, w.steps.Orchestrate)
		return err
	})
	return out, err
}

func (w *World) routed(payload []byte) ([]byte, error) {
	answer, err := w.router.Route(context.Background(), payload)
	if err != nil {
		return nil, err
	}
	return json.Marshal(answer)
}

// handled calls a handler as Lambda does.
func handled[In, Out any](payload []byte, handle func(context.Context, In) (Out, error)) ([]byte, error) {
	var in In
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, err
	}
	out, err := handle(context.Background(), in)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}
