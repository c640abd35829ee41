package command

import (
	"os"
	"os/exec"
	"testing"

	"github.com/interlock-go/interlock/internal/program"
)

func TestAProcessIsIdentifiedByMoreThanItsPID(t *testing.T) {
	self := identify(os.Getpid())
	if !self.lives() || self.Boot == "" {
		t.Fatalf("this process counts as dead: %+v", self)
	}
	for name, other := range map[string]process{
		"another that was given its number": {PID: self.PID, Start: self.Start + "1", Boot: self.Boot},
		"one before the machine started":    {PID: self.PID, Start: self.Start, Boot: "another"},
		"one of which only that is known":   {PID: self.PID},
		"one that never was":                {PID: 1 << 30, Start: "1", Boot: self.Boot},
	} {
		if other.lives() {
			t.Errorf("%s lives: %+v", name, other)
		}
	}
}

func TestAZombieIsDead(t *testing.T) {
	cmd := exec.Command("/bin/true")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	born := identify(cmd.Process.Pid)
	for out.Read(make([]byte, 1)); born.lives(); { // its end of the pipe closes shortly before it is dead
	}
	if _, ok := program.StatOf(cmd.Process.Pid); !ok {
		t.Error("the process is gone, so this test proves nothing")
	}
	cmd.Wait()
}
