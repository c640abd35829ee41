// Command seed writes the past of some pipelines into a data directory that no server owns yet:
// runs, deadlines, readings and events of the last weeks, as a controller would have left them. The
// tests of the dashboard in a real browser look at it, and so do the pictures in docs/images; bench
// makes lanes with it. It prints the periods that it wrote, as JSON.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/interlock-go/interlock/internal/store/sqlite"
)

// options is what to write, and where.
type options struct {
	data      string
	pipelines string
	days      int
	lanes     int
	laneDays  int
	dead      int
}

func main() {
	var o options
	flag.StringVar(&o.data, "data", "", "the data directory to write into")
	flag.StringVar(&o.pipelines, "pipelines", "pipelines", "the pipeline files, by the path that the server reads them from")
	flag.IntVar(&o.days, "days", 40, "how many days of those pipelines that have a habit")
	flag.IntVar(&o.lanes, "lanes", 0, "instead: so many pipelines lane1, lane2, … with a run for each of 48 hours")
	flag.IntVar(&o.laneDays, "lane-days", 0, "with -lanes: a run for each of so many days instead, and for each hour of every 25th lane")
	flag.IntVar(&o.dead, "dead", 0, "also so many alerts that the sink ops rejected, all with the same answer")
	flag.Parse()
	if err := seed(o); err != nil {
		fmt.Fprintln(os.Stderr, "seed:", err)
		os.Exit(1)
	}
}

func seed(o options) (err error) {
	ctx := context.Background()
	s, err := sqlite.Open(ctx, o.data, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = closed
		}
	}()
	now := time.Now()
	if o.lanes > 0 {
		if err := writeLanes(ctx, s, o.lanes, o.laneDays, now); err != nil {
			return err
		}
		return settle(ctx, s)
	}
	if err := writeDead(ctx, s, o.dead, now); err != nil {
		return err
	}
	wrote, err := writePast(ctx, s, o.pipelines, o.days, now)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(wrote)
}
