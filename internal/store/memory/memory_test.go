package memory_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/interlock-go/interlock/internal/store/memory"
)

func TestWaitingConsumerIsDurablyBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		ended := make(chan error)
		go func() {
			_, err := s.Receive(t.Context(), "router", "a", 10)
			ended <- err
		}()
		synctest.Wait()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err == nil || errors.Is(err, t.Context().Err()) {
			t.Errorf("receive ended with %v when the store was closed", err)
		}
	})
}
