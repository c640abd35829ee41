package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/sink/webhook"
)

// verify checks the Interlock-Signature header of a request against its raw body.
func verify(secret, header string, body []byte, now time.Time) error {
	sent, signature, ok := strings.Cut(header, ",v1=")
	unix, err := strconv.ParseInt(strings.TrimPrefix(sent, "t="), 10, 64)
	if !ok || err != nil {
		return errors.New("the signature is malformed")
	}
	if age := now.Sub(time.Unix(unix, 0)); age.Abs() > 5*time.Minute {
		return errors.New("the request is too old and may be a replay")
	}
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.%s", unix, body)
	if want := hex.EncodeToString(mac.Sum(nil)); !hmac.Equal([]byte(signature), []byte(want)) {
		return errors.New("the signature does not match")
	}
	return nil
}

func Example() {
	body := []byte(`{"specversion":"1.0"}`)
	header := webhook.Sign("secret", noon, body)
	fmt.Println(verify("secret", header, body, noon.Add(time.Second)))
	fmt.Println(verify("secret", header, []byte("another"), noon))
	fmt.Println(verify("another", header, body, noon))
	fmt.Println(verify("secret", header, body, noon.Add(time.Hour)))
	fmt.Println(verify("secret", "", body, noon))
	// Output:
	// <nil>
	// the signature does not match
	// the signature does not match
	// the request is too old and may be a replay
	// the signature is malformed
}

func TestManualShowsTheReceiverThatIsTestedHere(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/ALERTS.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(source), "\n// verify checks")
	function, _, _ := strings.Cut(rest, "\n}\n")
	if function == "" || !strings.Contains(string(manual), "// verify checks"+function+"\n}\n") {
		t.Error("docs/ALERTS.md shows another receiver than example_test.go")
	}
}
