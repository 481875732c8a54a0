package supervisor

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/jobs/exec/internal/protocol"
)

const (
	maxLine   = 8 << 10 // bytes of a line that are passed on
	tailLines = 20
	tailBytes = 4 << 10

	// How many lines of a run are passed on at once, and how many a second after that. A command
	// may write tens of megabytes a second, and a log is for people.
	lineBurst, lineRate = 1000, 100
)

// output is the output of a run's command: it keeps the last lines of both streams, in the order
// they were read.
type output struct {
	mu      sync.Mutex
	last    [tailLines][]byte // a ring, whose slices are used again
	lines   int               // that were read in all
	dropped int               // lines that were not passed on, and not reported yet
	limit   lineLimit
}

func newOutput() *output { return &output{limit: lineLimit{left: lineBurst, since: time.Now()}} }

// lineLimit gives lineBurst lines, and lineRate more at the end of each second up to lineBurst.
type lineLimit struct {
	left  int
	since time.Time // when it was filled up last
}

func (l *lineLimit) take() bool {
	if l.left == 0 {
		if past := time.Since(l.since).Truncate(time.Second); past > 0 {
			l.left = min(int(past.Seconds())*lineRate, lineBurst)
			l.since = l.since.Add(past)
		}
	}
	if l.left == 0 {
		return false
	}
	l.left--
	return true
}

// read reads a stream to its end. It never waits for anything else, so a command can always write.
func (o *output) read(stream io.Reader, to *outbox, owner *run, name string) {
	r := bufio.NewReaderSize(stream, maxLine)
	rest := false // of a line that was cut
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 && !rest {
			o.add(bytes.TrimRight(line, "\r\n"), to, owner, name)
		}
		rest = errors.Is(err, bufio.ErrBufferFull)
		if err != nil && !rest {
			return
		}
	}
}

func (o *output) add(line []byte, to *outbox, owner *run, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	slot := &o.last[o.lines%tailLines]
	*slot = append((*slot)[:0], line[:min(len(line), tailBytes)]...)
	o.lines++
	if !owner.start.Log {
		return
	}
	if o.limit.take() && to.offer(owner.id, name, line, o.dropped) {
		o.dropped = 0
	} else {
		o.dropped++
	}
}

// readCheckpoints reads the stream of a run's checkpoints to its end. What comes after the last end
// of a line was cut off.
func readCheckpoints(stream io.Reader, to *outbox, run uint64) {
	r := bufio.NewReaderSize(stream, protocol.MaxCheckpointLine+1)
	rest := false // of a line that is too long
	for {
		line, err := r.ReadSlice('\n')
		tooLong := errors.Is(err, bufio.ErrBufferFull)
		switch {
		case tooLong && !rest:
			to.checkpoint(run, protocol.Checkpoint{TooLong: 1})
		case err == nil && !rest && len(line) > 1:
			to.checkpoint(run, protocol.Checkpoint{Line: string(line[:len(line)-1])})
		}
		if rest = tooLong; err != nil && !tooLong {
			return
		}
	}
}

// tail is the last lines that fit, at most tailLines and tailBytes.
func (o *output) tail() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var lines []string
	size := 0
	for i := o.lines - 1; i >= max(0, o.lines-tailLines); i-- {
		line := strings.ToValidUTF8(string(o.last[i%tailLines]), "\uFFFD")
		size += len(line) + 1
		if size > tailBytes {
			if len(lines) == 0 {
				lines = append(lines, strings.ToValidUTF8(line[:tailBytes-1], ""))
			}
			break
		}
		lines = append(lines, line)
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}

// droppedLines returns how many lines were not passed on since the last that was.
func (o *output) droppedLines() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dropped
}
