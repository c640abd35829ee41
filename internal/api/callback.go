package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/interlock-go/interlock/internal/job"
	"github.com/interlock-go/interlock/internal/run"
)

// Callbacks gives each attempt the means to report its own result: the address of its run, and a token that is good
// for that attempt and nothing else. The token is a keyed hash of the attempt's id, so that none is ever stored.
type Callbacks struct {
	Base   string // the server's own address, such as http://127.0.0.1:8740
	Secret []byte // at least 16 random bytes, the same after a restart
}

// callbackPrefix tells callback tokens from those of the server's file.
const callbackPrefix = "ilcb_"

// For is the callback of an attempt; the zero Callback where there is no secret to make it with.
func (c Callbacks) For(key run.Key, attempt int) job.Callback {
	if len(c.Secret) == 0 {
		return job.Callback{}
	}
	return job.Callback{
		URL:   strings.TrimSuffix(c.Base, "/") + runPath(key) + "/job",
		Token: callbackPrefix + strconv.Itoa(attempt) + "_" + c.sign(key.Attempt(attempt)),
	}
}

// runPath is where a run is found under the server's address.
func runPath(key run.Key) string {
	return prefix + "/runs/" + url.PathEscape(string(key.Pipeline)) + "/" + url.PathEscape(string(key.Schedule)) + "/" + url.PathEscape(key.Period.String())
}

func (c Callbacks) sign(id run.AttemptID) string {
	mac := hmac.New(sha256.New, c.Secret)
	mac.Write([]byte("callback\x00" + string(id)))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func isCallback(token string) bool { return strings.HasPrefix(token, callbackPrefix) }

// attempt is the attempt of key that token was made for.
func (c Callbacks) attempt(token string, key run.Key) (int, *Problem) {
	number, signature, _ := strings.Cut(strings.TrimPrefix(token, callbackPrefix), "_")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || len(c.Secret) == 0 || !hmac.Equal([]byte(signature), []byte(c.sign(key.Attempt(n)))) {
		return 0, problem(http.StatusForbidden, plainKind, "the callback token was not made for run %s", key)
	}
	return n, nil
}
