// Package dashboard serves the files of the dashboard. It knows nothing of pipelines: the page
// reads everything from the HTTP API (package api), which also decides who may see it. The page's
// sources are in web/.
package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

// policy allows the page its own files and its own server, and nothing else: no inline script, no
// other host, no frame.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// index is the page. It is served at the address of each of its views, too.
const index = "index.html"

// file is one file, ready to be sent.
type file struct {
	plain     []byte
	packed    func() []byte // compressed on first use; nil if that is not smaller
	kind, tag string
	forever   bool // its name changes with its content
}

// Handler serves a built dashboard.
type Handler struct{ files map[string]*file }

// New serves files, by path.
func New(files map[string]string) (*Handler, error) {
	h := &Handler{files: map[string]*file{}}
	for name, content := range files {
		h.files[name] = newFile(name, []byte(content))
	}
	if h.files[index] == nil {
		return nil, fmt.Errorf("read the dashboard: it has no %s; build it in web/ with npm run build", index)
	}
	return h, nil
}

func newFile(name string, content []byte) *file {
	sum := sha256.Sum256(content)
	return &file{
		plain: content, packed: sync.OnceValue(func() []byte { return pack(content) }),
		kind: mime.TypeByExtension(path.Ext(name)), tag: hex.EncodeToString(sum[:12]), forever: strings.HasPrefix(name, "assets/"),
	}
}

// pack compresses content. It returns nil if the result is not smaller.
func pack(content []byte) []byte {
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // fails for an unknown level only
	_, _ = w.Write(content)                                    // a write to memory never fails
	_ = w.Close()
	if packed.Len() >= len(content) {
		return nil
	}
	return packed.Bytes()
}

// ServeHTTP sends a file. At an address without a file it sends the page, because each view has its
// own address. It answers 404 or 405 to all other requests.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
	f := h.files[name]
	if f == nil && (isView(name) || acceptsPage(r) && !isData(name)) {
		f = h.files[index]
	}
	switch {
	case f == nil:
		http.NotFound(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	default:
		f.send(w, r)
	}
}

// isView reports whether an address belongs to a view of the page; web/src/route/route.ts lists
// them.
func isView(name string) bool {
	switch name {
	case "", "deadlines", "trends", "events", "alerts", "config":
		return true
	}
	return strings.HasPrefix(name, "pipelines/") || strings.HasPrefix(name, "runs/")
}

// isData reports whether an address is never the page's: it is the API's, or that of a part of the
// page.
func isData(name string) bool {
	return name == "api" || strings.HasPrefix(name, "api/") || strings.HasPrefix(name, "assets/")
}

// acceptsPage reports whether a browser asks for a page. The page then says that there is no such
// view; a program that mistyped a path gets 404.
func acceptsPage(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/html")
}

func (f *file) send(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Content-Type", f.kind)
	header.Set("Vary", "Accept-Encoding")
	header.Set("Cache-Control", "no-cache")
	if f.forever {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	content, tag := f.plain, f.tag
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		if packed := f.packed(); packed != nil {
			header.Set("Content-Encoding", "gzip")
			content, tag = packed, f.tag+"-gzip"
		}
	}
	header.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}
