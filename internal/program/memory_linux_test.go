package program

import "testing"

func TestMachineMemoryIsKnown(t *testing.T) {
	if got := MachineMemory(); got < 64<<20 || got > 1<<50 {
		t.Errorf("the machine has %d bytes", got)
	}
}
