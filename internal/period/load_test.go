package period

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write zones.json.gz anew, from the zones of the Go distribution")

// The names must be all there; the data may be of another release of the Go distribution.
func TestEveryZoneIsInTheBinary(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	zones := distributed(t, filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if *update {
		pack(t, zones)
		return
	}
	for _, z := range zones {
		for _, name := range z.Names {
			if got, err := embeddedZone(name); err != nil || got.String() != name {
				t.Errorf("%s: got %v, %v", name, got, err)
			}
		}
	}
}

func TestEmbeddedZoneChangesItsClock(t *testing.T) {
	zone, err := embeddedZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for month, want := range map[time.Month]int{time.January: 3600, time.July: 7200} {
		if _, got := time.Date(2026, month, 1, 0, 0, 0, 0, zone).Zone(); got != want {
			t.Errorf("in %s: %d seconds from UTC, want %d", month, got, want)
		}
	}
}

func TestUnknownZoneIsAnError(t *testing.T) {
	for _, name := range []string{"Europe/Nowhere", "../etc/passwd", "europe/berlin "} {
		if zone, err := LoadZone(name); err == nil {
			t.Errorf("%q: got %v", name, zone)
		}
	}
}

// distributed returns the zones of a zip file, each with all its names.
func distributed(t *testing.T, file string) []zoneData {
	t.Helper()
	r, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all []zoneData
	for _, f := range r.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(all, func(z zoneData) bool { return bytes.Equal(z.Data, data) }); i >= 0 {
			all[i].Names = append(all[i].Names, f.Name)
			continue
		}
		all = append(all, zoneData{[]string{f.Name}, data})
	}
	return all
}

func pack(t *testing.T, zones []zoneData) {
	t.Helper()
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		err = json.NewEncoder(w).Encode(zones)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = os.WriteFile("zones.json.gz", packed.Bytes(), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
