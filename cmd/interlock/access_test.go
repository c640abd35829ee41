package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-go/interlock/client"
	"github.com/interlock-go/interlock/internal/engine"
	"github.com/interlock-go/interlock/internal/settings"
	"github.com/interlock-go/interlock/internal/store/redistest"
)

// authority is a test CA.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key = a.issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	return a
}

// issue signs a certificate; the authority's first certificate is self-signed.
func (a *authority) issue(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber = serial
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	parent, signer := template, key
	if a.cert != nil {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// write issues a certificate and writes it and its key to dir.
func (a *authority) write(dir, name string, template *x509.Certificate) (certFile, keyFile string) {
	a.t.Helper()
	cert, key := a.issue(template)
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return writePEM(a.t, dir, name+".pem", "CERTIFICATE", cert.Raw), writePEM(a.t, dir, name+".key", "PRIVATE KEY", der)
}

func writePEM(t *testing.T, dir, name, kind string, der []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// loopback is a template for the certificate of a server on this machine.
func loopback() *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: "interlock"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
}

// get sends a request on a new connection to a server whose certificate the authority issued.
func (a *authority) get(address, token string, certs ...tls.Certificate) (status int, body string, server *x509.Certificate, err error) {
	a.t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	config := &tls.Config{RootCAs: pool}
	if len(certs) > 0 { // sent whether or not the server accepts its CA
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certs[0], nil }
	}
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), resp.TLS.PeerCertificates[0], err
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTokenFileIsReloaded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	writeText(t, file, "first-0123456789\n")
	s := serve(t, site{config: "auth: {tokens: [{name: ann, role: admin, tokenFile: " + file + "}]}"})
	s.must(0, "status", "--token", "first-0123456789")

	writeText(t, file, "second-0123456789\n")
	if err := s.c.access.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.must(1, "status", "--token", "first-0123456789")
	s.must(0, "status", "--token", "second-0123456789")
	if got := s.must(0, "audit", "--action", "reload-tokens", "--token", "second-0123456789").stdout; !strings.Contains(got, "names=[ann]") || strings.Contains(got, "0123456789") {
		t.Errorf("audit log: %s", got)
	}

	for _, text := range []string{"", "short"} {
		writeText(t, file, text)
		if err := s.c.access.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "ann") || text != "" && strings.Contains(err.Error(), text+"\"") {
			t.Errorf("a token file with %q: %v", text, err)
		}
		s.must(0, "status", "--token", "second-0123456789")
	}
}

func TestTokenThatIsLimitedOrRemovedIsReloaded(t *testing.T) {
	s := serve(t, site{
		config: "auth: {tokens: [{name: root, role: admin, tokenEnv: ROOT}, {name: ann, role: operator, tokenEnv: ANN}]}",
		env:    map[string]string{"ROOT": "root-0123456789abc", "ANN": "ann-0123456789abc"},
	})
	for _, c := range []struct{ config, want string }{
		{"auth: {tokens: [{name: root, role: admin, tokenEnv: ROOT}, {name: ann, role: viewer, tokenEnv: ANN}]}", "viewer []"},
		{"auth: {tokens: [{name: root, role: admin, tokenEnv: ROOT}, {name: ann, role: viewer, pipelines: [a-*], tokenEnv: ANN}]}", "viewer [a-*]"},
		{"auth: {tokens: [{name: root, role: admin, tokenEnv: ROOT}]}", ""},
	} {
		file, problems := settings.Parse("interlock.yaml", []byte(c.config))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		s.c.access.use(file)
		if err := s.c.access.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.address+"/api/v1/session", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer ann-0123456789abc")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Role      string
			Pipelines []string
		}
		err = json.NewDecoder(resp.Body).Decode(&got)
		resp.Body.Close()
		if c.want == "" {
			if resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("a removed token gets status %d", resp.StatusCode)
			}
		} else if text := fmt.Sprint(got.Role, " ", got.Pipelines); err != nil || text != c.want {
			t.Errorf("with config %s, the token gives %s (%v)", c.config, text, err)
		}
	}
	got := s.must(0, "audit", "--action", "reload-tokens", "--token", "root-0123456789abc").stdout
	if strings.Count(got, "names=[ann]") != 3 {
		t.Errorf("audit log: %s", got)
	}
}

func TestCertificateIsReloaded(t *testing.T) {
	dir, ca := t.TempDir(), newAuthority(t, "tests")
	cert, key := ca.write(dir, "server", loopback())
	s := serve(t, site{config: fmt.Sprintf("tls: {cert: %s, key: %s}", cert, key)})
	serial := func() *big.Int {
		_, _, server, err := ca.get(s.address+"/healthz", "")
		if err != nil {
			t.Fatal(err)
		}
		return server.SerialNumber
	}
	first := serial()
	ca.write(dir, "server", loopback())
	if err := s.c.access.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := serial()
	if first.Cmp(second) == 0 {
		t.Error("the server still uses the previous certificate")
	}
	ca.write(dir, "other", loopback())
	if err := os.Rename(filepath.Join(dir, "other.key"), key); err != nil { // this key does not belong to the certificate
		t.Fatal(err)
	}
	if err := s.c.access.Reload(t.Context()); err == nil || !strings.Contains(err.Error(), "tls.key") {
		t.Errorf("a key of another certificate: %v", err)
	}
	if got := serial(); got.Cmp(second) != 0 {
		t.Error("invalid files replaced the certificate")
	}
}

func TestClientCertificateHasItsRole(t *testing.T) {
	dir, ca, stranger := t.TempDir(), newAuthority(t, "tests"), newAuthority(t, "elsewhere")
	cert, key := ca.write(dir, "server", loopback())
	authorities := writePEM(t, dir, "ca.pem", "CERTIFICATE", ca.cert.Raw)
	spiffe, err := url.Parse("spiffe://example.org/etl")
	if err != nil {
		t.Fatal(err)
	}
	client := func(a *authority, name string, uris ...*url.URL) tls.Certificate {
		cert, key := a.write(dir, name, &x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{"Data"}}, URIs: uris, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		return pair
	}
	config := fmt.Sprintf(`
tls: {cert: %s, key: %s, clientCA: %s}
auth:
  tokens: [{name: wall, role: viewer, tokenEnv: WALL}]
  certificates:
    - {name: ann, role: admin, subject: "CN=ann,O=Data"}
    - {name: etl, role: sensor, pipelines: [silver-*], san: spiffe://example.org/etl}
`, cert, key, authorities)
	s := serve(t, site{config: config, env: map[string]string{"WALL": "wall-0123456789abc"}})
	for name, c := range map[string]struct {
		token string
		certs []tls.Certificate
		want  int
		says  string
	}{
		"by its subject":       {certs: []tls.Certificate{client(ca, "ann")}, want: 200, says: `"name":"ann","role":"admin"`},
		"by a name":            {certs: []tls.Certificate{client(ca, "x", spiffe)}, want: 200, says: `"name":"etl","role":"sensor","pipelines":["silver-*"]`},
		"unknown":              {certs: []tls.Certificate{client(ca, "bob")}, want: 401, says: "CN=bob,O=Data"},
		"with a token":         {certs: []tls.Certificate{client(ca, "ann")}, token: "wall-0123456789abc", want: 200, says: `"name":"wall"`},
		"none":                 {want: 401},
		"a token alone":        {token: "wall-0123456789abc", want: 200, says: `"name":"wall"`},
		"of another authority": {certs: []tls.Certificate{client(stranger, "ann")}, want: 0},
	} {
		status, body, _, err := ca.get(s.address+"/api/v1/session", c.token, c.certs...)
		if status != c.want || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s (%v)", name, status, body, err)
		}
	}

	strict := serve(t, site{config: strings.Replace(config, "clientCA:", "requireClientCert: true, clientCA:", 1), env: map[string]string{"WALL": "wall-0123456789abc"}})
	if status, _, _, err := ca.get(strict.address+"/api/v1/session", "wall-0123456789abc"); err == nil {
		t.Errorf("a connection without a certificate got status %d", status)
	}
}

// TestOnlyTheCertificateOfAnEntryHasItsRole presents certificates that resemble the one of an entry.
func TestOnlyTheCertificateOfAnEntryHasItsRole(t *testing.T) {
	dir, ca, stranger := t.TempDir(), newAuthority(t, "tests"), newAuthority(t, "tests")
	cert, key := ca.write(dir, "server", loopback())
	s := serve(t, site{config: fmt.Sprintf(`
tls: {cert: %s, key: %s, clientCA: %s}
auth:
  certificates:
    - {name: ann, role: admin, subject: "CN=ann,O=Data"}
    - {name: etl, role: sensor, san: etl.example.org}
    - {name: wild, role: viewer, san: "*.wild.example"}
`, cert, key, writePEM(t, dir, "ca.pem", "CERTIFICATE", ca.cert.Raw))})
	ann := pkix.Name{CommonName: "ann", Organization: []string{"Data"}}
	forClients := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	hour := time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		template x509.Certificate
		by       *authority
		want     int // 0: the connection is rejected
	}{
		"the one of the entry":           {x509.Certificate{Subject: ann, ExtKeyUsage: forClients}, ca, 200},
		"without an extended usage":      {x509.Certificate{Subject: ann}, ca, 200},
		"expired":                        {x509.Certificate{Subject: ann, ExtKeyUsage: forClients, NotBefore: hour.Add(-3 * time.Hour), NotAfter: hour.Add(-2 * time.Hour)}, ca, 0},
		"not yet valid":                  {x509.Certificate{Subject: ann, ExtKeyUsage: forClients, NotBefore: hour, NotAfter: hour.Add(time.Hour)}, ca, 0},
		"of another authority":           {x509.Certificate{Subject: ann, ExtKeyUsage: forClients}, stranger, 0},
		"of no authority":                {x509.Certificate{Subject: ann, ExtKeyUsage: forClients}, &authority{t: t}, 0},
		"for servers":                    {x509.Certificate{Subject: ann, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}, ca, 0},
		"with another case":              {x509.Certificate{Subject: pkix.Name{CommonName: "Ann", Organization: []string{"Data"}}, ExtKeyUsage: forClients}, ca, 401},
		"with the subject as its name":   {x509.Certificate{Subject: pkix.Name{CommonName: "ann,O=Data"}, ExtKeyUsage: forClients}, ca, 401},
		"with a joined name":             {x509.Certificate{Subject: pkix.Name{CommonName: "ann+O=Data"}, ExtKeyUsage: forClients}, ca, 401},
		"with two organizations":         {x509.Certificate{Subject: pkix.Name{CommonName: "ann", Organization: []string{"Data", "Data"}}, ExtKeyUsage: forClients}, ca, 401},
		"with a wildcard":                {x509.Certificate{Subject: pkix.Name{CommonName: "etl.example.org"}, DNSNames: []string{"*.example.org"}, ExtKeyUsage: forClients}, ca, 401},
		"named below a wildcard's entry": {x509.Certificate{DNSNames: []string{"a.wild.example"}, ExtKeyUsage: forClients}, ca, 401},
		"with the name of the entry":     {x509.Certificate{DNSNames: []string{"x.example.org", "etl.example.org"}, ExtKeyUsage: forClients}, ca, 200},
	} {
		certFile, keyFile := c.by.write(dir, "client", &c.template)
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			t.Fatal(err)
		}
		if status, body, _, err := ca.get(s.address+"/api/v1/session", "", pair); status != c.want {
			t.Errorf("a certificate %s: got %d %s (%v), want %d", name, status, body, err, c.want)
		}
	}
}

func TestCommandPresentsItsCertificate(t *testing.T) {
	dir, ca := t.TempDir(), newAuthority(t, "tests")
	cert, key := ca.write(dir, "server", loopback())
	authorities := writePEM(t, dir, "ca.pem", "CERTIFICATE", ca.cert.Raw)
	mine, minesKey := ca.write(dir, "ann", &x509.Certificate{Subject: pkix.Name{CommonName: "ann"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	s := serve(t, site{config: fmt.Sprintf("tls: {cert: %s, key: %s, clientCA: %s}\nauth: {certificates: [{name: ann, role: admin, subject: CN=ann}]}", cert, key, authorities)})
	s.must(3, "status") // the system does not trust this CA
	s.must(1, "status", "--ca", authorities)
	s.must(0, "status", "--ca", authorities, "--cert", mine, "--key", minesKey)
	for name, value := range map[string]string{"INTERLOCK_CA": authorities, "INTERLOCK_CERT": mine, "INTERLOCK_KEY": minesKey} {
		s.env[name] = value
	}
	s.must(0, "status")
	for _, args := range [][]string{{"--ca", key}, {"--ca", dir + "/none"}, {"--cert", mine, "--key", key}} {
		s.must(2, append([]string{"status"}, args...)...)
	}
}

func TestServerListensOnASocket(t *testing.T) {
	dir := socketDir(t)
	path := filepath.Join(dir, "i.sock")
	config := "listen: unix:" + path + "\nsocketMode: \"0660\"\n"
	s := serveListening(t, config)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 || info.Mode().Type() != os.ModeSocket {
		t.Fatalf("the socket is %v (%v)", info, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("the directory contains %v (%v)", left, err)
	}
	s.must(0, "status")
	s.must(0, "status", "--server", "unix:"+path)

	if _, err := listenOn(t.Context(), s.c.file); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "another") {
		t.Errorf("a second server on the same socket: %v", err)
	}
	s.must(0, "status")
	s.stop()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is left behind: %v", err)
	}
}

func TestSocketOfAServerThatWasKilledIsReplaced(t *testing.T) {
	path := filepath.Join(socketDir(t), "i.sock")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	left.Close()
	serveListening(t, "listen: unix:"+path+"\n").must(0, "status")
}

func TestSocketOfAnotherProgramIsNotReplaced(t *testing.T) {
	path := filepath.Join(socketDir(t), "i.sock")
	other, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go func() {
		for {
			c, err := other.Accept()
			if err != nil {
				return
			}
			c.Close() // without an answer
		}
	}()
	file, problems := settings.Parse("interlock.yaml", []byte("listen: unix:"+path+"\n"))
	if errorCount(problems) > 0 {
		t.Fatal(problems)
	}
	if _, err := listenOn(t.Context(), file); err == nil || !strings.Contains(err.Error(), "another server listens") {
		t.Errorf("got %v", err)
	}
}

func TestSocketReplacesNoOtherFile(t *testing.T) {
	path := filepath.Join(socketDir(t), "i.sock")
	writeText(t, path, "mine")
	file, problems := settings.Parse("interlock.yaml", []byte("listen: unix:"+path+"\n"))
	if errorCount(problems) > 0 {
		t.Fatal(problems)
	}
	if _, err := listenOn(t.Context(), file); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("got %v", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
		t.Errorf("the file is %q (%v)", data, err)
	}
}

// socketDir returns a directory whose path is short enough for a socket.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "il")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// serveListening starts a controller that listens as configured.
func serveListening(t *testing.T, config string) *service {
	t.Helper()
	dir := t.TempDir()
	s := &service{t: t, data: filepath.Join(dir, "data"), pipelines: filepath.Join(dir, "pipelines")}
	if err := os.Mkdir(s.pipelines, 0o755); err != nil {
		t.Fatal(err)
	}
	file, problems := settings.Parse("interlock.yaml", []byte(config))
	if errorCount(problems) > 0 {
		t.Fatal(problems)
	}
	file.Data.Dir = s.data
	s.start(file, engine.Folders{Pipelines: []string{s.pipelines}}, nil)
	return s
}

func TestAuditShowsWhoDidWhat(t *testing.T) {
	s := serve(t, site{pipelines: map[string]string{"orders.yaml": "pipeline: {id: orders, owner: tests}\nschedule: {cron: \"0 8 * * *\"}\njob: {type: command, config: {command: [\"true\"]}}\n"}})
	s.must(0, "pause", "orders", "--reason", "maintenance")
	got := s.must(0, "audit", "-o", "wide").stdout
	for _, want := range []string{"server", "config", "pipeline orders", "sha256=–→", "start", "ann (local)", "pause", "done", "maintenance"} {
		if !strings.Contains(got, want) {
			t.Errorf("missing %q in\n%s", want, got)
		}
	}
	var list struct{ Items []client.AuditEntry }
	out := s.must(0, "audit", "--actor", "ann", "--action", "pause", "--pipeline", "orders", "--outcome", "done", "--since", "1h", "--format", "json").stdout
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Items) != 1 || *list.Items[0].Reason != "maintenance" {
		t.Errorf("got %s (%v)", out, err)
	}
	if got := s.must(0, "events").stdout; strings.Contains(got, "AUDIT") {
		t.Errorf("events repeat the audit log:\n%s", got)
	}
	s.must(2, "audit", "--since", "soon")
}

// TestReplicasShareSessionsAndTheAuditLog logs in at one replica on Redis, works at the other, and
// logs out there.
func TestReplicasShareSessionsAndTheAuditLog(t *testing.T) {
	server := redistest.Start(t)
	config := "store: " + server.URL() + "\nauth: {tokens: [{name: root, role: admin, tokenEnv: ROOT}]}"
	env := map[string]string{"ROOT": "root-0123456789abc"}
	one, two := serve(t, site{config: config, env: env}), serve(t, site{config: config, env: env})
	cookies, err := cookiejar.New(nil) // cookies belong to a host, on any port
	if err != nil {
		t.Fatal(err)
	}
	ask := func(s *service, method, body string) int {
		r, err := http.NewRequestWithContext(t.Context(), method, s.address+"/api/v1/session", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		resp, err := (&http.Client{Jar: cookies}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	at, err := url.Parse(one.address + "/api/v1/session")
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(one, "POST", `{"token":"root-0123456789abc"}`); got != 200 {
		t.Fatalf("login: %d", got)
	}
	copied := cookies.Cookies(at)
	if got := ask(two, "GET", ""); got != 200 {
		t.Errorf("the other replica rejects the session: status %d", got)
	}
	if got := ask(two, "DELETE", ""); got != 204 {
		t.Errorf("logout: %d", got)
	}
	cookies.SetCookies(at, copied)
	if got := ask(one, "GET", ""); got != 401 {
		t.Errorf("the session is still valid after logout: status %d", got)
	}
	record := two.must(0, "audit", "--actor", "root", "--token", "root-0123456789abc").stdout
	if !strings.Contains(record, "login") || !strings.Contains(record, "logout") {
		t.Errorf("audit log: %s", record)
	}
}
