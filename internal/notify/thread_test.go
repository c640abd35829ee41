package notify_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/interlock-go/interlock/internal/notify"
	"github.com/interlock-go/interlock/internal/sink"
	"github.com/interlock-go/interlock/internal/store/memory"
)

func TestOneOfTwoDispatchersOpensAThread(t *testing.T) {
	ctx, threads := context.Background(), notify.NewThreads(memory.New())
	first, err := threads.Thread(ctx, "orders")
	if diff := cmp.Diff(sink.Thread{Key: "orders"}, first); diff != "" || err != nil {
		t.Fatalf("a new thread (-want +got):\n%s%v", diff, err)
	}
	// Both save exactly the same data: the second must not be treated as a repeat of the first.
	first.Data = []byte("claimed")
	mine, err := threads.SaveThread(ctx, first, noon)
	if err != nil || mine.Version != 1 {
		t.Fatalf("saved as %+v, %v", mine, err)
	}
	if _, err := threads.SaveThread(ctx, first, noon); !errors.Is(err, sink.ErrTaken) {
		t.Errorf("the second got %v", err)
	}
	mine.Data = []byte("posted")
	if _, err := threads.SaveThread(ctx, mine, noon); err != nil {
		t.Error(err)
	}
	got, err := threads.Thread(ctx, "orders")
	if diff := cmp.Diff(sink.Thread{Key: "orders", Version: 2, Data: []byte("posted")}, got); diff != "" || err != nil {
		t.Errorf("the thread (-want +got):\n%s%v", diff, err)
	}
}
