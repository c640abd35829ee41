package api_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/api"
	"github.com/interlock-go/interlock/internal/pipeline"
)

func TestMonthsComeFromTheArchive(t *testing.T) {
	var away error
	w := newWorld(t, func(d *api.Deps) {
		d.Months = func(_ context.Context, id pipeline.ID, limit int) ([]api.Month, error) {
			if id == "gone" { // removed from the catalog, but not from the archive
				return []api.Month{{Month: "2019-01", Runs: limit}}, away
			}
			return nil, away
		}
	})
	if got := w.get("/api/v1/pipelines/gone/months?limit=7").object(200); at(got, "items", 0, "runs") != 7.0 || at(got, "items", 0, "deadlines", "metPercent") != nil {
		t.Errorf("got %v", got)
	}
	if got := at(w.get("/api/v1/pipelines/orders/months").object(200), "items").([]any); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	w.get("/api/v1/pipelines/nobody/months").object(404)
	w.get("/api/v1/pipelines/orders/months?limit=121").object(400)
	away = fmt.Errorf("%w: %w", api.ErrArchiveAway, errors.New("Postgres cannot be reached"))
	if got := w.get("/api/v1/pipelines/orders/months").object(503); !strings.Contains(fmt.Sprint(got["detail"]), "Postgres cannot be reached") {
		t.Errorf("got %v", got)
	}
}

func TestMonthsNeedAnArchive(t *testing.T) {
	if got := newWorld(t).get("/api/v1/pipelines/orders/months").object(404); !strings.Contains(fmt.Sprint(got["detail"]), "archive.dsnEnv") {
		t.Errorf("got %v", got)
	}
}
