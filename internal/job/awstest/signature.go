package awstest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/interlock-go/interlock/internal/job/jobtest"
)

// The credentials of a test.
const (
	accessKey = "AKIDEXAMPLE"
	secretKey = "not-a-secret-but-an-example"
	// SessionToken is sent with every request and must never be shown.
	SessionToken = "Hf3-Lq8-Pz6-Vc1"
)

// Signed reports whether a request has a valid signature for a service.
func Signed(call jobtest.Call, service string) bool {
	given := call.Header.Get("Authorization")
	date, err := time.Parse("20060102T150405Z", call.Header.Get("X-Amz-Date"))
	if err != nil || call.Header.Get("X-Amz-Security-Token") != SessionToken {
		return false
	}
	req, err := signable(call, given)
	if err != nil {
		return false
	}
	sum := sha256.Sum256(call.Body)
	credentials := aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey, SessionToken: SessionToken}
	if err := v4.NewSigner().SignHTTP(context.Background(), credentials, req, hex.EncodeToString(sum[:]), service, Region, date); err != nil {
		return false
	}
	return strings.HasPrefix(given, "AWS4-HMAC-SHA256 ") && req.Header.Get("Authorization") == given
}

// signable returns the request reduced to its signed parts.
func signable(call jobtest.Call, authorization string) (*http.Request, error) {
	_, list, _ := strings.Cut(authorization, "SignedHeaders=")
	list, _, _ = strings.Cut(list, ",")
	names := strings.Split(list, ";")
	if !slices.Contains(names, "host") {
		return nil, fmt.Errorf("%q is not signed", "host")
	}
	req, err := http.NewRequest(call.Method, "http://"+call.Host+call.URI, bytes.NewReader(call.Body))
	if err != nil {
		return nil, err
	}
	req.ContentLength = 0
	for _, name := range names {
		if name == "content-length" {
			req.ContentLength, err = strconv.ParseInt(call.Header.Get(name), 10, 64)
		} else if values := call.Header.Values(name); len(values) > 0 {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	return req, err
}
