package log_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/solotick/solotick/jobs"
	"github.com/solotick/solotick/jobs/log"
)

func ExampleNew() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	handler := log.New(logger, "hello") // a scheduler calls the handler that jobs.New is given
	if err := handler(context.Background(), jobs.Run{Job: "report", Replica: "r1", Tick: time.Unix(1_800_000_000, 0).UTC(), Token: 7, Attempt: 1}); err != nil {
		fmt.Println(err)
	}
	// Output: level=INFO msg=hello job=report tick=2027-01-15T08:00:00.000Z replica=r1 token=7 attempt=1
}
