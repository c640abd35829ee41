package slack_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
)

const botToken = "xoxb-s3cret-token"

// posted is a message in the channel.
type posted struct {
	ts, thread string
	text       string
	attachment struct {
		Color    string `json:"color"`
		Fallback string `json:"fallback"`
		Blocks   []struct {
			Type string `json:"type"`
			Text struct {
				Type     string `json:"type"`
				Text     string `json:"text"`
				Verbatim bool   `json:"verbatim"`
			} `json:"text"`
			Elements []struct {
				Text string `json:"text"`
			} `json:"elements"`
		} `json:"blocks"`
	}
	metadata  map[string]any
	broadcast bool
}

// blocks returns the texts of a message's blocks.
func (p posted) blocks() []string {
	var texts []string
	for _, b := range p.attachment.Blocks {
		if b.Text.Text != "" {
			texts = append(texts, b.Text.Text)
		}
		for _, e := range b.Elements {
			texts = append(texts, e.Text)
		}
	}
	return texts
}

// workspace is a fake Slack: it answers as the API documentation says.
type workspace struct {
	*httptest.Server
	t  *testing.T
	mu sync.Mutex

	messages []posted
	calls    []string
	fail     func(method string, form url.Values) string // an error code; "" to continue
	answer   func(w http.ResponseWriter, method string) bool
}

func newWorkspace(t *testing.T) *workspace {
	w := &workspace{t: t}
	w.Server = httptest.NewServer(w)
	t.Cleanup(w.Close)
	return w
}

func (w *workspace) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	method := r.URL.Path[1:]
	if err := r.ParseForm(); err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		w.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	w.calls = append(w.calls, method)
	if w.answer != nil && w.answer(rw, method) {
		return
	}
	if r.Form.Get("token") != botToken {
		say(rw, map[string]any{"ok": false, "error": "invalid_auth"})
		return
	}
	if w.fail != nil {
		if code := w.fail(method, r.Form); code != "" {
			say(rw, map[string]any{"ok": false, "error": code})
			return
		}
	}
	switch method {
	case "chat.postMessage":
		w.post(rw, r.Form)
	case "chat.update":
		w.update(rw, r.Form)
	case "chat.delete":
		w.remove(rw, r.Form)
	case "conversations.history":
		w.history(rw, r.Form)
	default:
		w.t.Errorf("unexpected call of %s", method)
	}
}

func say(w http.ResponseWriter, answer map[string]any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(answer)
}

// read copies the fields of a form into a message.
func (w *workspace) read(m *posted, form url.Values) {
	m.text = form.Get("text")
	m.attachment = posted{}.attachment
	var attachments []json.RawMessage
	if text := form.Get("attachments"); text != "" {
		if err := json.Unmarshal([]byte(text), &attachments); err != nil {
			w.t.Error(err)
		}
	}
	if len(attachments) > 0 {
		if err := json.Unmarshal(attachments[0], &m.attachment); err != nil {
			w.t.Error(err)
		}
	}
	if text := form.Get("metadata"); text != "" {
		if err := json.Unmarshal([]byte(text), &m.metadata); err != nil {
			w.t.Error(err)
		}
	}
}

func (w *workspace) post(rw http.ResponseWriter, form url.Values) {
	if channel := form.Get("channel"); channel != "#data" && channel != "C0DATA0000" {
		say(rw, map[string]any{"ok": false, "error": "channel_not_found"})
		return
	}
	m := posted{ts: fmt.Sprintf("1772539200.%06d", len(w.messages)+1), thread: form.Get("thread_ts"), broadcast: form.Get("reply_broadcast") == "true"}
	w.read(&m, form)
	w.messages = append(w.messages, m)
	say(rw, map[string]any{"ok": true, "channel": "C0DATA0000", "ts": m.ts})
}

func (w *workspace) update(rw http.ResponseWriter, form url.Values) {
	for i := range w.messages {
		if w.messages[i].ts == form.Get("ts") && form.Get("channel") == "C0DATA0000" {
			w.read(&w.messages[i], form)
			say(rw, map[string]any{"ok": true, "channel": "C0DATA0000", "ts": form.Get("ts")})
			return
		}
	}
	say(rw, map[string]any{"ok": false, "error": "message_not_found"})
}

func (w *workspace) remove(rw http.ResponseWriter, form url.Values) {
	for i := range w.messages {
		if w.messages[i].ts == form.Get("ts") {
			w.messages = append(w.messages[:i:i], w.messages[i+1:]...)
			say(rw, map[string]any{"ok": true})
			return
		}
	}
	say(rw, map[string]any{"ok": false, "error": "message_not_found"})
}

// history answers page by page, newest first, and without metadata unless requested.
func (w *workspace) history(rw http.ResponseWriter, form url.Values) {
	if form.Get("channel") != "C0DATA0000" {
		say(rw, map[string]any{"ok": false, "error": "channel_not_found"})
		return
	}
	var all []map[string]any
	for i := len(w.messages) - 1; i >= 0; i-- {
		m := w.messages[i]
		if m.thread != "" || m.ts < form.Get("oldest") || m.ts > form.Get("latest") {
			continue
		}
		each := map[string]any{"type": "message", "ts": m.ts, "text": m.text}
		if form.Get("include_all_metadata") == "true" || form.Get("include_all_metadata") == "1" {
			each["metadata"] = m.metadata
		}
		all = append(all, each)
	}
	from := 0
	_, _ = fmt.Sscan(form.Get("cursor"), &from)
	to := min(from+2, len(all))
	say(rw, map[string]any{
		"ok": true, "messages": all[from:to], "has_more": to < len(all), "response_metadata": map[string]any{"next_cursor": fmt.Sprint(to)},
	})
}

// roots returns the messages that begin a thread.
func (w *workspace) roots() []posted {
	w.mu.Lock()
	defer w.mu.Unlock()
	var roots []posted
	for _, m := range w.messages {
		if m.thread == "" {
			roots = append(roots, m)
		}
	}
	return roots
}

// replies returns the replies to a root.
func (w *workspace) replies(to posted) []posted {
	w.mu.Lock()
	defer w.mu.Unlock()
	var replies []posted
	for _, m := range w.messages {
		if m.thread == to.ts {
			replies = append(replies, m)
		}
	}
	return replies
}
