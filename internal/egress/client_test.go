package egress

import (
	"io"
	"net/http"
	"testing"
	"time"
)

func TestClientFollowsNoRedirect(t *testing.T) {
	inner, requests := served(t, hello)
	outer, _ := served(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:"+inner+"/", http.StatusTemporaryRedirect)
	})
	resp, err := guard(t, "127.0.0.1").Client(time.Minute).Get("http://127.0.0.1:" + outer + "/")
	if err != nil || resp.StatusCode != http.StatusTemporaryRedirect || requests.Load() != 0 {
		t.Fatalf("%v, %v, %d requests elsewhere", resp, err, requests.Load())
	}
	resp.Body.Close()
}

func TestClientReadsOnlySoMuchOfAnAnswer(t *testing.T) {
	port, _ := served(t, func(w http.ResponseWriter, _ *http.Request) {
		for block := make([]byte, 1<<16); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	resp, err := guard(t, "127.0.0.1").Client(time.Minute).Get("http://127.0.0.1:" + port + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != maxAnswer {
		t.Errorf("read %d bytes, %v", n, err)
	}
}
