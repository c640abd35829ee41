package program_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/interlock-go/interlock/internal/program"
)

func TestProjectDir(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{
		"shop/interlock.yaml", "shop/etl/sales/orders.yaml", "shop/pipelines/orders.yaml",
		"plain/pipelines/sales/orders.yaml", "flat/orders.yaml",
	} {
		path := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{
		"shop/etl/sales/orders.yaml":        "shop",
		"shop/pipelines/orders.yaml":        "shop",
		"plain/pipelines/sales/orders.yaml": "plain",
		"flat/orders.yaml":                  "flat",
	} {
		if got := program.ProjectDir(filepath.Join(root, file)); got != filepath.Join(root, want) {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
	for _, file := range []string{"", filepath.Join(root, "elsewhere", "orders.yaml")} {
		if got := program.ProjectDir(file); got != "" {
			t.Errorf("%q: %s", file, got)
		}
	}
	t.Chdir(filepath.Join(root, "plain"))
	if got := program.ProjectDir("pipelines/sales/orders.yaml"); got != filepath.Join(root, "plain") {
		t.Errorf("from the working directory: %s", got)
	}
}
