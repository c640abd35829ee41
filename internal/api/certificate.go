package api

import (
	"crypto/x509"
	"net/http"
	"slices"
)

// Certificate is a client certificate and what its holder may do. The server has verified that one of its authorities
// issued it.
type Certificate struct {
	Name      string // recorded as who did something
	Role      Role
	Pipelines []string // patterns of the pipelines it is limited to; empty: all
	Subject   string   // the whole subject, as in CN=etl,O=Data; empty: any
	SAN       string   // one of the alternative names; empty: any
}

// fits reports whether cert is the one that c means. A Certificate with neither Subject nor SAN fits none.
func (c Certificate) fits(cert *x509.Certificate) bool {
	if c.Subject == "" && c.SAN == "" {
		return false
	}
	return (c.Subject == "" || c.Subject == cert.Subject.String()) && (c.SAN == "" || slices.Contains(alternativeNames(cert), c.SAN))
}

// alternativeNames returns the DNS names, URIs, e-mail and IP addresses of a certificate.
func alternativeNames(cert *x509.Certificate) []string {
	names := slices.Concat(cert.DNSNames, cert.EmailAddresses)
	for _, u := range cert.URIs {
		names = append(names, u.String())
	}
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	return names
}

// clientCertificate returns the verified certificate of a connection; nil if there is none.
func clientCertificate(r *http.Request) *x509.Certificate {
	if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
		return nil
	}
	return r.TLS.VerifiedChains[0][0]
}
