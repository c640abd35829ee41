package redis

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/internal/store/redistest"
	"github.com/interlock-go/interlock/internal/store/row"
)

// works calls every method, with rows of every kind.
func works(t *testing.T, e *Engine) {
	t.Helper()
	everyKind(t, e)
	check(t, e.Apply(t.Context(), marking("works"), noon))
	put(t, e, 1)
	check(t, e.Ack(t.Context(), "router", receive(t, e, 10)))
	_, err := e.Trim(t.Context(), noon, 10)
	check(t, err)
	if _, err = e.Drop(t.Context(), scan(t, e, row.Range{Kind: row.Events, List: "events"})); err != nil {
		t.Error(err)
	}
	if !marked(t, e, "works") {
		t.Error("the mark does not exist")
	}
}

// The user may do everything, but only with keys and channels of the prefix: so nothing is stored
// elsewhere.
func TestUserOfThePrefixAlone(t *testing.T) {
	server := redistest.Start(t, append(switchedOff("~*", "&*", "+@all"), ann...)...)
	at := func(login, prefix string) string {
		return "redis://" + login + "@" + server.Address() + "?prefix=" + prefix
	}
	works(t, opened(t, at("ann:s3cret", "blue"), Options{}))
	for login, want := range map[string]string{"ann:wr0ng": "does not know this user", "ben:s3cret": "does not know this user"} {
		_, err := OpenEngine(t.Context(), at(login, "blue"), Options{})
		refused(t, err, want)
		for _, secret := range []string{"s3cret", "wr0ng"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the error shows the password: %v", err)
			}
		}
	}
	_, err := OpenEngine(t.Context(), at("ann:s3cret", "green"), Options{})
	refused(t, err, "does not let this user")
	check(t, server.Kill())
	check(t, server.Again())
	if !marked(t, opened(t, at("ann:s3cret", "blue"), Options{}), "works") {
		t.Error("the mark is gone after a restart")
	}
}

var ann = []string{"--user", "ann", "on", ">s3cret", "~blue:*", "&blue:*", "+@all"}

// switchedOff returns a user default that no client can log in as, but that still has rights.
func switchedOff(rights ...string) []string {
	return append([]string{"--user", "default", "off"}, rights...)
}

// Redis replays its append-only file as the user default, and skips every transaction that this
// user may not run.
func TestServerThatCouldNotReplayItsDataIsRejected(t *testing.T) {
	for name, rights := range map[string][]string{"no rights": nil, "no commands": {"~*"}, "other keys": {"~green:*", "+@all"}, "reads": {"~*", "+@read"}} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t, append(switchedOff(rights...), ann...)...)
			url := "redis://ann:s3cret@" + server.Address() + "?prefix=blue"
			_, err := OpenEngine(t.Context(), url, Options{})
			refused(t, err, "user default", "user default off ~* &* +@all", "--unsafe-redis")
			opened(t, url, Options{Unsafe: true})
		})
	}
}

// A user that may not run ACL is not rejected for it.
func TestUserWithoutACLRights(t *testing.T) {
	server := redistest.Start(t, append(switchedOff("~*", "&*", "+@all"), append(slices.Clone(ann), "-acl")...)...)
	works(t, opened(t, "redis://ann:s3cret@"+server.Address()+"?prefix=blue", Options{}))
}

func TestTLS(t *testing.T) {
	cert, key := certificate(t, t.TempDir())
	server := redistest.StartTLS(t, cert, key)
	url := "rediss://" + server.Address()
	works(t, opened(t, url+"?ca="+cert+"&cert="+cert+"&key="+key, Options{}))
	_, err := OpenEngine(t.Context(), url+"?ca="+cert, Options{})
	refused(t, err, "no connection") // the server requires a certificate
	_, err = OpenEngine(t.Context(), url+"?cert="+cert+"&key="+key, Options{})
	refused(t, err, "certificate", "ca=FILE") // the server's authority is unknown
	_, err = OpenEngine(t.Context(), "redis://"+server.Address(), Options{})
	refused(t, err, "no connection", "rediss://")
	if strings.Contains(err.Error(), "tried again") {
		t.Errorf("it claims to retry, but does not: %v", err)
	}
}

// certificate writes a self-signed certificate for the loopback address.
func certificate(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "redis"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	check(t, err)
	secret, err := x509.MarshalECPrivateKey(private)
	check(t, err)
	save := func(name, kind string, bytes []byte) string {
		file := filepath.Join(dir, name)
		check(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600))
		return file
	}
	return save("cert.pem", "CERTIFICATE", public), save("key.pem", "EC PRIVATE KEY", secret)
}

func TestSentinelNamesThePrimary(t *testing.T) {
	primary := redistest.Start(t)
	sentinel := redistest.Watch(t, primary)
	works(t, opened(t, sentinel.URL()+"?sentinel="+redistest.Watched, Options{}))
	direct := opened(t, primary.URL(), Options{})
	if !marked(t, direct, "works") {
		t.Error("what was written is not on the primary")
	}
	_, err := OpenEngine(t.Context(), sentinel.URL()+"?sentinel=other", Options{})
	refused(t, err, "other", sentinel.Address())
	_, err = OpenEngine(t.Context(), sentinel.URL(), Options{})
	if err == nil {
		t.Error("a Sentinel was accepted as a Redis")
	}
}

// Everything that a URL can express at once: the first Sentinel is gone, the other requires TLS and
// a user, and so does the primary.
func TestSentinelsOverTLSWithAUser(t *testing.T) {
	cert, key := certificate(t, t.TempDir())
	primary := redistest.StartTLS(t, cert, key, append(switchedOff("~*", "&*", "+@all"), append(slices.Clone(ann), "--user", "watch", "on", ">s33", "&*", "+@all")...)...)
	sentinel := redistest.Watch(t, primary, "user default off", "user ann on >s3cret ~* &* +@all",
		"sentinel auth-user "+redistest.Watched+" watch", "sentinel auth-pass "+redistest.Watched+" s33")
	gone := redistest.Start(t)
	check(t, gone.Stop())
	url := func(login string) string {
		return "rediss://" + login + "@" + gone.Address() + "?addr=" + sentinel.Address() + "&sentinel=" + redistest.Watched +
			"&sentinel_auth=true&prefix=blue&ca=" + cert + "&cert=" + cert + "&key=" + key
	}
	works(t, opened(t, url("ann:s3cret"), Options{}))
	direct := opened(t, "rediss://ann:s3cret@"+primary.Address()+"?prefix=blue&ca="+cert+"&cert="+cert+"&key="+key, Options{})
	if !marked(t, direct, "works") {
		t.Error("what was written is not on the primary")
	}
	_, err := OpenEngine(t.Context(), url("ann:wr0ng"), Options{})
	refused(t, err, "does not know this user")
	if strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("the error shows the password: %v", err)
	}
}
