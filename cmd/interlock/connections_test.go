package main

import "testing"

func TestConnectionsLeaveDescriptorsToStoreAndJobs(t *testing.T) {
	for _, c := range []struct{ wanted, descriptors, want int }{
		{4096, 1 << 20, 4096},
		{4096, 4096, 3072},
		{4096, 1024, 768},
		{4096, 512, 256},
		{4096, 64, 16}, // too few for the reserve: the server still accepts some connections
		{16, 1 << 20, 16},
	} {
		if got := connections(c.wanted, c.descriptors); got != c.want {
			t.Errorf("connections(%d, %d) = %d, want %d", c.wanted, c.descriptors, got, c.want)
		}
	}
}
