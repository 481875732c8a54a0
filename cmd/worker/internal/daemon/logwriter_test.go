package daemon

import (
	"errors"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// gate is a writer that blocks, or fails, as long as it is asked to.
type gate struct {
	open  chan struct{}
	mu    sync.Mutex
	fails bool
	lines []string
}

func (g *gate) Write(p []byte) (int, error) {
	<-g.open
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fails {
		return 0, errors.New("no")
	}
	g.lines = append(g.lines, string(p))
	return len(p), nil
}

func (g *gate) set(fails bool) {
	g.mu.Lock()
	g.fails = fails
	g.mu.Unlock()
}

func bareText(w io.Writer) *slog.Logger {
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestLogNeverWaitsForItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		l := newLogWriter(g, bareText)
		line := strings.Repeat("x", 1023) + "\n"
		const wrote = 10_000
		for range wrote {
			n, err := io.WriteString(l, line)
			require.NoError(t, err)
			require.Len(t, line, n)
		}
		began := time.Now()
		close(g.open)
		l.Flush(time.Second)
		require.Equal(t, began, time.Now())
		require.Equal(t, line, g.lines[0])
		lost := l.dropped.Load()
		require.Positive(t, lost)
		require.Equal(t, `level=WARN msg="log lines dropped: nobody read them in time" count=`+strconv.FormatInt(lost, 10)+"\n", g.lines[1])
		require.Len(t, g.lines, wrote-int(lost)+1)
	})
}

func TestLogFlushIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{})}
		l := newLogWriter(g, bareText)
		_, _ = io.WriteString(l, "line\n")
		began := time.Now()
		l.Flush(time.Second)
		require.Equal(t, time.Second, time.Since(began))
		close(g.open)
	})
}

func TestLogLinesThatCannotBeWrittenAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate{open: make(chan struct{}), fails: true}
		close(g.open)
		l := newLogWriter(g, bareText)
		for range 3 {
			_, _ = io.WriteString(l, "lost\n")
		}
		synctest.Wait()
		g.set(false)
		_, _ = io.WriteString(l, "good\n")
		synctest.Wait()
		require.Equal(t, []string{`level=WARN msg="log lines dropped: nobody read them in time" count=3` + "\n", "good\n"}, g.lines)
		require.EqualValues(t, 3, l.dropped.Load())
	})
}
