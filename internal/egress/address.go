package egress

import "net/netip"

// special are the networks without public addresses, besides those that package netip knows by
// name.
var special = []struct {
	network netip.Prefix
	why     string
}{
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud metadata service"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address, as used by cloud metadata services"},
	{netip.MustParsePrefix("100.100.100.200/32"), "a cloud metadata service"},
	{netip.MustParsePrefix("192.0.0.192/32"), "a cloud metadata service"},
	{netip.MustParsePrefix("fd00:ec2::254/128"), "a cloud metadata service"},
	{netip.MustParsePrefix("fd20:ce::254/128"), "a cloud metadata service"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier's shared address (CGNAT)"},
	{netip.MustParsePrefix("fec0::/10"), "a private address"},
	{netip.MustParsePrefix("0.0.0.0/8"), "this network's own address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a reserved address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "an address that a local NAT64 translates"},
	{netip.MustParsePrefix("100::/64"), "a discard-only address"},
	{netip.MustParsePrefix("2001::/23"), "a reserved address"},
	{netip.MustParsePrefix("2001:db8::/32"), "an address for documentation"},
	{netip.MustParsePrefix("3fff::/20"), "an address for documentation"},
	{netip.MustParsePrefix("5f00::/16"), "a reserved address"},
}

// IPv6 networks whose addresses contain an IPv4 address, and where it begins in their bytes.
var carriers = []struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64
	{netip.MustParsePrefix("::/96"), 12},           // IPv4-compatible, long deprecated but still supported in places
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // IPv4-translated (SIIT)
	{netip.MustParsePrefix("2002::/16"), 2},        // 6to4
}

// isatap reports whether the interface identifier of addr contains an IPv4 address in the form of
// ISATAP (RFC 5214), which any network may have.
func isatap(addr [16]byte) bool {
	id := [4]byte(addr[8:12])
	return id == [4]byte{0, 0, 0x5e, 0xfe} || id == [4]byte{2, 0, 0x5e, 0xfe}
}

// embedded returns the IPv4 address in addr; addr itself if it contains none.
func embedded(addr netip.Addr) netip.Addr {
	addr = addr.Unmap().WithZone("")
	if addr.IsUnspecified() || addr.IsLoopback() {
		return addr
	}
	for _, c := range carriers {
		if c.network.Contains(addr) {
			bytes := addr.As16()
			return netip.AddrFrom4([4]byte(bytes[c.at : c.at+4]))
		}
	}
	if bytes := addr.As16(); addr.Is6() && isatap(bytes) {
		return netip.AddrFrom4([4]byte(bytes[12:]))
	}
	return addr
}

// notPublic returns what kind of non-public address addr is; "" for a public one.
func notPublic(addr netip.Addr) string {
	inner := embedded(addr)
	for _, s := range special {
		if s.network.Contains(inner) {
			return s.why
		}
	}
	switch {
	case !inner.IsValid() || inner.IsUnspecified():
		return "the unspecified address, which means this machine"
	case inner.IsLoopback():
		return "a loopback address, which is this machine"
	case inner.IsPrivate():
		return "a private address"
	case inner.IsLinkLocalUnicast():
		return "a link-local address"
	case inner.IsMulticast():
		return "a multicast address"
	case !inner.IsGlobalUnicast():
		return "a reserved address"
	}
	return ""
}
