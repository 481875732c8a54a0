package steady

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// pretend sets the known suspensions until the end of the test.
func pretend(t *testing.T, total time.Duration) {
	before := slept.total.Load()
	t.Cleanup(func() { slept.total.Store(before) })
	slept.total.Store(int64(total))
}

func TestKernelIsAskedOnlyWhenTheClocksDiffer(t *testing.T) {
	require.Eventually(t, func() bool { // someone may be setting the clock meanwhile
		sleptUntil(time.Now())
		pretend(t, -time.Hour)
		notAsked := sleptUntil(time.Now()) == -time.Hour
		slept.apart.Add(int64(time.Second))
		return notAsked && sleptUntil(time.Now()) > -time.Minute
	}, 10*time.Second, time.Millisecond)
}

func TestKnownSuspensionIsNeverForgotten(t *testing.T) {
	pretend(t, time.Hour)
	slept.apart.Add(int64(time.Second))
	require.Equal(t, time.Hour, sleptUntil(time.Now()))
}

func TestTinyDifferencesOfTheClocksAreNoSuspension(t *testing.T) {
	pretend(t, bootAhead()-bootAheadAtStart-tolerance/2)
	before := slept.total.Load()
	slept.apart.Add(int64(time.Second))
	require.Equal(t, before, int64(sleptUntil(time.Now())))
}

func TestSuspensionsAreReadFromTheKernel(t *testing.T) {
	uptime, err := os.ReadFile("/proc/uptime") // counts suspensions
	require.NoError(t, err)
	up, err := strconv.ParseFloat(strings.Fields(string(uptime))[0], 64)
	require.NoError(t, err)
	var monotonic syscall.Timespec
	require.True(t, read(1, &monotonic))
	require.InDelta(t, up, (time.Duration(monotonic.Nano()) + bootAhead()).Seconds(), 5)
}
