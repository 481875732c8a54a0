package http

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	nethttp "net/http"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/jobs"
)

// errNoTimeout is that of a job with steps which nothing would ever end.
var errNoTimeout = jobs.Permanent(errors.New("a job with http.steps needs a timeout: that of all steps together"))

// nextStep is no failure: another request is to follow.
type nextStep struct{ wait time.Duration }

func (e *nextStep) Error() string { return "another step follows" }

// takeCheckpoint makes a checkpoint of what a response says about where the job is.
func takeCheckpoint(ctx context.Context, run *jobs.Run, header nethttp.Header, sync bool) error {
	value := header.Get(headerCheckpoint)
	if value == "" {
		return nil
	}
	position, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(value, "="))
	if err != nil || len(position) > maxPosition {
		return fmt.Errorf("the response's %s must be base64url of at most %d bytes", headerCheckpoint, maxPosition)
	}
	run.Position = position
	_ = run.Checkpoint(ctx, position) // if it fails, the run goes on: the next checkpoint has it, too
	number, text, _ := strings.Cut(header.Get(headerProgress), " ")
	if percent, err := strconv.Atoi(number); err == nil {
		_ = run.Progress(ctx, percent, text)
	}
	if sync {
		_ = run.Sync(ctx)
	}
	return nil
}
