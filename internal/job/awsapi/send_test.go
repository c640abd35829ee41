package awsapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/interlock-go/interlock/internal/job/awsapi"
)

// sdkBody behaves like the SDK's request bodies: once it is closed, WriteTo fails with io.EOF. It
// ends only when it is closed, as if the transport were slow to notice that everything was sent.
type sdkBody struct {
	*strings.Reader
	closed chan struct{}
	once   sync.Once
}

func (b *sdkBody) Read(p []byte) (int, error) {
	if b.Len() == 0 {
		<-b.closed
	}
	return b.Reader.Read(p)
}

func (b *sdkBody) WriteTo(w io.Writer) (int64, error) {
	if b.Len() == 0 {
		<-b.closed
		return 0, io.EOF
	}
	return b.Reader.WriteTo(w)
}

func (b *sdkBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

// TestAnAnswerIsReadEvenIfTheRequestBodyIsClosedEarly covers the SDK, which closes the body of a
// request when its answer begins.
func TestAnAnswerIsReadEvenIfTheRequestBodyIsClosedEarly(t *testing.T) {
	resume := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "begin ")
		w.(http.Flusher).Flush()
		<-resume
		io.WriteString(w, "end")
	}))
	defer s.Close()
	body := &sdkBody{Reader: strings.NewReader("request"), closed: make(chan struct{})}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = int64(len("request"))
	resp, err := awsapi.HTTPClient(t, cloud(t, nil), s.URL).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body.Close()
	resume <- struct{}{}
	if got, err := io.ReadAll(resp.Body); err != nil || string(got) != "begin end" {
		t.Errorf("got %q, %v", got, err)
	}
}
