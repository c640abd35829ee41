// Command seed writes the past of some pipelines into a data directory that no server owns yet: runs, deadlines, readings
// and events of the last weeks, as a controller would have left them. The tests of the dashboard in a real browser look at
// it, and so do the pictures in docs/images; bench makes lanes with it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/interlock-go/interlock/internal/store"
	"github.com/interlock-go/interlock/internal/store/sqlite"
)

func main() {
	data := flag.String("data", "", "the data directory to write into")
	days := flag.Int("days", 40, "how many days of orders, billing and ledger")
	lanes := flag.Int("lanes", 0, "instead: so many pipelines lane1, lane2, … with 48 hours each")
	flag.Parse()
	if err := seed(*data, *days, *lanes); err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

func seed(data string, days, lanes int) (err error) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, data, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	now := time.Now()
	if lanes > 0 {
		err = writeLanes(ctx, s, lanes, now)
	} else {
		err = writePast(ctx, s, days, now)
	}
	if err != nil {
		return err
	}
	return settle(ctx, s)
}

// settle marks everything as dealt with, so that the controller does not take the past for news.
func settle(ctx context.Context, s store.Store) error {
	for {
		left, _, err := s.Backlog(ctx, "router")
		if err != nil || left == 0 {
			return err
		}
		changes, err := s.Receive(ctx, "router", "seed", store.MaxPage)
		if err != nil {
			return err
		}
		if err := s.Done(ctx, "router", changes); err != nil {
			return err
		}
	}
}
