package dashboard_test

import (
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/interlock-go/interlock/internal/dashboard"
)

var script = strings.Repeat("let a = 1;\n", 100)

func serve(t *testing.T, path string, headers ...string) *http.Response {
	t.Helper()
	h, err := dashboard.New(map[string]string{"index.html": "<title>page</title>", "assets/app.js": script})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestEveryViewIsThePage(t *testing.T) {
	for _, path := range []string{"/", "/events", "/pipelines/a.b", "/runs/orders/cron/2026-03-03T10:15"} {
		got := serve(t, path)
		if text := body(t, got.Body); got.StatusCode != 200 || text != "<title>page</title>" {
			t.Errorf("%s: answered %d %q", path, got.StatusCode, text)
		}
		if kind := got.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/html") {
			t.Errorf("%s: is %s", path, kind)
		}
	}
}

func TestPathOfNoFileAndNoViewIsNotFound(t *testing.T) {
	for _, path := range []string{"/assets/gone.js", "/api", "/api/v1/nothing"} {
		if got := serve(t, path); got.StatusCode != 404 {
			t.Errorf("%s: answered %d", path, got.StatusCode)
		}
	}
}

// TestOnlyABrowserGetsThePageAtAnUnknownPath lets the page say that there is no such view.
func TestOnlyABrowserGetsThePageAtAnUnknownPath(t *testing.T) {
	for _, path := range []string{"/healtz", "/pipelines", "/runs", "/events/x", "/favicon.ico"} {
		if got := serve(t, path, "Accept", "text/html,application/xhtml+xml,*/*;q=0.8"); got.StatusCode != 200 {
			t.Errorf("%s in a browser: answered %d", path, got.StatusCode)
		}
		for _, accept := range []string{"", "*/*", "application/json", "image/avif,*/*;q=0.8"} {
			if got := serve(t, path, "Accept", accept); got.StatusCode != 404 {
				t.Errorf("%s with Accept %q: answered %d", path, accept, got.StatusCode)
			}
		}
	}
}

func TestPageIsOnlyRead(t *testing.T) {
	h, err := dashboard.New(map[string]string{"index.html": "<title>page</title>"})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/": 405, "/events": 405, "/nothing": 404} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("POST", path, nil))
		if w.Code != want || want == 405 && w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: answered %d %v", path, w.Code, w.Header())
		}
	}
}

func TestPageIsAskedForAnewAndItsPartsAreNot(t *testing.T) {
	if got := serve(t, "/").Header.Get("Cache-Control"); got != "no-cache" {
		t.Errorf("the page: %s", got)
	}
	if got := serve(t, "/assets/app.js").Header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
		t.Errorf("its script: %s", got)
	}
}

func TestWhoHasAFileIsTold(t *testing.T) {
	tag := serve(t, "/assets/app.js").Header.Get("ETag")
	if got := serve(t, "/assets/app.js", "If-None-Match", tag); got.StatusCode != http.StatusNotModified {
		t.Errorf("answered %d to %s", got.StatusCode, tag)
	}
}

func TestFilesArePackedForThoseWhoUnpack(t *testing.T) {
	got := serve(t, "/assets/app.js", "Accept-Encoding", "gzip, br")
	if got.Header.Get("Content-Encoding") != "gzip" || got.Header.Get("ETag") == serve(t, "/assets/app.js").Header.Get("ETag") {
		t.Fatalf("headers are %v", got.Header)
	}
	plain, err := gzip.NewReader(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	if body(t, plain) != script {
		t.Error("it unpacks to something else")
	}
}

func TestPolicyForbidsWhatIsInline(t *testing.T) {
	got := serve(t, "/").Header.Get("Content-Security-Policy")
	if !strings.Contains(got, "default-src 'none'") || strings.Contains(got, "unsafe") {
		t.Errorf("policy is %s", got)
	}
}

// React escapes every text that it renders. This test finds ways around that.
func TestDataIsNeverMarkupInTheDashboard(t *testing.T) {
	around := regexp.MustCompile(`dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcDoc|\beval\(|new Function`)
	read := 0
	err := filepath.WalkDir("../../web/src", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		read++
		for _, found := range around.FindAllString(string(text), -1) {
			t.Errorf("%s uses %s", path, found)
		}
		return err
	})
	if err != nil || read < 50 {
		t.Errorf("%d files were read: %v", read, err)
	}
}

func TestWithoutAPageThereIsNoDashboard(t *testing.T) {
	if _, err := dashboard.New(nil); err == nil || !strings.Contains(err.Error(), "index.html") {
		t.Errorf("got %v", err)
	}
}
