package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"

	"github.com/interlock-go/interlock/client"
)

// The last step of an ingest job: report to the pipeline that the data of a day has arrived.
func ExampleClient_PutSensor() {
	server := exampleServer()
	defer server.Close()

	c, err := client.New(server.URL, client.WithToken(os.Getenv("INTERLOCK_TOKEN")))
	if err != nil {
		fmt.Println(err)
		return
	}
	written, err := c.PutSensor(context.Background(), "orders", "source", map[string]any{
		"date": "2026-03-03", "status": "ready", "rows": 120_000,
	}, client.WithSource("ingest"))
	var problem *client.Problem
	switch {
	case errors.As(err, &problem):
		fmt.Println("refused:", problem.Detail)
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Printf("stored for %s\n", *written.Date)
	}
	// Output: stored for 2026-03-03
}

// Another scheduler asks before it starts its own job.
func ExampleClient_Gate() {
	server := exampleServer()
	defer server.Close()

	c, err := client.New(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	gate, err := c.Gate(context.Background(), "orders", "2026-03-03")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("may I run?", gate.Open)
	for _, rule := range gate.Rules {
		fmt.Println(rule.Key+":", rule.Reason)
	}
	// Output:
	// may I run? false
	// source: no reading
}

// exampleServer stands in for the server at client.DefaultServer.
func exampleServer() *httptest.Server {
	_, a, err := assemble(nil)
	if err != nil {
		panic(err)
	}
	return httptest.NewServer(a)
}
