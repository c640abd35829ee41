package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/catalog"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/pipeline"
)

// share makes the controller one of several replicas on its store. It then stores only changes that
// it saw in its own files, including changes made while it was down.
func (c *controller) share() error {
	if !c.store.shared {
		return nil
	}
	seen, err := readSeen(seenFile(c.file.Data.Dir))
	if err != nil {
		return err
	}
	c.catalog.Share(seen)
	c.seen = seen
	return nil
}

// seenFile is where a replica keeps the state in which it last saw its files.
func seenFile(data string) string { return filepath.Join(data, "files.json") }

func readSeen(path string) (catalog.Seen, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of known files: %w", err)
	}
	var seen catalog.Seen
	if err := json.Unmarshal(text, &seen); err != nil {
		return nil, fmt.Errorf("read the list of known files: %s: %w; remove it to start over", path, err)
	}
	return seen, nil
}

// keepSeen writes the last seen state of the files to disk, if it has changed.
func (c *controller) keepSeen() error {
	c.seenMu.Lock()
	defer c.seenMu.Unlock()
	seen := c.catalog.Seen()
	if !c.store.shared || maps.Equal(seen, c.seen) {
		return nil
	}
	text, err := json.Marshal(seen)
	if err != nil {
		return err
	}
	if err := writeWhole(seenFile(c.file.Data.Dir), text); err != nil {
		return err
	}
	c.seen = seen
	return nil
}

// acceptRemoval removes the pipelines whose files were lost, and stores the new state on disk.
func (c *controller) acceptRemoval(ctx context.Context, by, why string, now time.Time) ([]pipeline.ID, error) {
	ids, err := c.catalog.AcceptRemoval(ctx, by, why, now)
	if err != nil {
		return ids, err
	}
	logReport(c.logger, catalog.Report{Removed: ids})
	return ids, c.keepSeen()
}

// takeConfig updates the catalog with files that another replica has stored.
func (c *controller) takeConfig(ctx context.Context, id pipeline.ID) error {
	if id == "" {
		return c.catalog.Load(ctx)
	}
	return c.catalog.Refresh(ctx, id)
}

// mostDifferences limits how many differing files are reported.
const mostDifferences = 20

// replicaChecks returns the /readyz checks of a controller that is one of several replicas.
func (c *controller) replicaChecks(h engine.Health) []client.HealthCheck {
	var checks []client.HealthCheck
	for _, replica := range slices.Sorted(maps.Keys(h.Elsewhere)) {
		checks = append(checks, client.HealthCheck{Name: "replica " + replica, OK: true, Detail: plural(h.Elsewhere[replica], "task") + " of jobs on that replica are waiting for it; is it down?"})
	}
	differences := c.catalog.Differences()
	for i, d := range differences {
		if i == mostDifferences {
			checks = append(checks, client.HealthCheck{Name: "files", OK: true, Detail: fmt.Sprintf("%d more differ from the active versions", len(differences)-i)})
			break
		}
		checks = append(checks, client.HealthCheck{Name: "file of " + string(d.ID), OK: true, Detail: d.Why})
	}
	return checks
}
