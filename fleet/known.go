package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// How long a call waits for the record of a job that has none. Its replica may have been started,
// or got the job by an update, a moment ago.
const (
	newJobWait    = time.Second      // when no live replica says that it serves the job
	servedJobWait = 10 * time.Second // when one does
	newJobAsk     = 20 * time.Millisecond
)

// whenKnown repeats a call until the job has a record, ctx ends, or it has waited for long enough.
// The error of a job without a record names the job.
func (f *Fleet) whenKnown(ctx context.Context, job string, call func() error) error {
	began, served := time.Now(), false
	for {
		err := named(job, call())
		waited := time.Since(began)
		if waited >= newJobWait && !served {
			served = f.serves(ctx, job)
		}
		if !errors.Is(err, protocol.ErrUnknown) || waited >= servedJobWait || waited >= newJobWait && !served {
			return err
		}
		t := time.NewTimer(newJobAsk)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
	}
}

// named is err, with the name of a job that has no record.
func named(job string, err error) error {
	if errors.Is(err, protocol.ErrUnknown) {
		return fmt.Errorf("job %q: %w", job, err)
	}
	return err
}

// serves reports whether a live replica says that it serves the job.
func (f *Fleet) serves(ctx context.Context, job string) bool {
	list, err := f.Replicas(ctx)
	if err != nil {
		return false
	}
	for _, r := range list {
		if serves, _ := r.serves(job); serves {
			return true
		}
	}
	return false
}
