package exec

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

// checkpoint keeps what the command has written. It returns at once: see [jobs.Run.Checkpoint].
func (r *activeRun) checkpoint(c protocol.Checkpoint) {
	if c.TooLong > 0 {
		r.notKept(fmt.Errorf("%d lines were longer than %d bytes", c.TooLong, protocol.MaxCheckpointLine))
	}
	if c.Line == "" {
		return
	}
	if err := r.keep(context.Background(), c.Line); err != nil { // refused when the lease has ended
		r.notKept(err)
	}
}

// keep keeps a line: POSITION, or POSITION, PERCENT and TEXT with tabs in between.
func (r *activeRun) keep(ctx context.Context, line string) error {
	position, progress, more := strings.Cut(line, "\t")
	if strings.IndexByte(position, 0) >= 0 {
		return fmt.Errorf("a position has a NUL byte, which %s cannot have", positionVariable)
	}
	number, text, _ := strings.Cut(progress, "\t")
	percent, err := strconv.Atoi(number)
	if more && (err != nil || percent < 0 || percent > 100) {
		return fmt.Errorf("%q after the first tab must be a percentage from 0 to 100", number)
	}
	if err := r.run.Checkpoint(ctx, []byte(position)); err != nil || !more {
		return err
	}
	return r.run.Progress(ctx, percent, text)
}

func (r *activeRun) notKept(err error) {
	if r.logger != nil {
		r.conn.lines.Put(logLine{logger: r.logger, failure: err})
	}
}
