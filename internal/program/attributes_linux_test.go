package program

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestSwitchingTakesAllItsCapabilities(t *testing.T) {
	all := uint64(1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_KILL)
	if err := canSwitch(all | 1<<unix.CAP_SYS_ADMIN); err != nil {
		t.Errorf("with all: %v", err)
	}
	for _, c := range switching {
		if canSwitch(all&^(1<<c)) == nil {
			t.Errorf("without %d: no error", c)
		}
	}
}
