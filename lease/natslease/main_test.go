package natslease_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"github.com/solotick/solotick/internal/historytest"
	"github.com/solotick/solotick/lease/natslease"
)

// asked is the URL, the name and the seed of a process of this binary that contends.
const asked = "SOLOTICK_NATS_PROCESS"

func TestMain(m *testing.M) {
	natslease.ShortenMarkers()
	if what := strings.Fields(os.Getenv(asked)); len(what) == 3 {
		if err := contend(what[0], what[1], what[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func contend(url, name, seed string) error {
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return err
	}
	nc, err := nats.Connect(url, nats.RetryOnFailedConnect(true), nats.PingInterval(time.Second), nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond),
		nats.ReconnectJitter(10*time.Millisecond, 10*time.Millisecond))
	if err != nil {
		return err
	}
	s, err := natslease.New(nc, "fleet", natslease.WithTimeout(2*time.Second))
	if err != nil {
		return err
	}
	return historytest.Contend(s.Values(), os.Stdout, name, n)
}

// contender is a process that contends on a server.
func contender(url string) func(name string, seed uint64) *exec.Cmd {
	return func(name string, seed uint64) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), asked+"="+strings.Join([]string{url, name, strconv.FormatUint(seed, 10)}, " "))
		cmd.Stderr = os.Stderr
		return cmd
	}
}

var buckets atomic.Int64

// bucket returns a name that no other test has.
func bucket() string { return fmt.Sprint("b", buckets.Add(1)) }

// connect returns a connection to any of the servers of a URL, which is closed at the end of t. It
// reconnects for ever, and soon.
func connect(t testing.TB, url string, opts ...nats.Option) *nats.Conn {
	t.Helper()
	opts = append([]nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectWait(20 * time.Millisecond), nats.ReconnectJitter(10*time.Millisecond, 10*time.Millisecond),
		nats.PingInterval(time.Second), nats.MaxPingsOutstanding(2), nats.ReconnectBufSize(-1), nats.Timeout(10 * time.Second), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}, opts...)
	nc, err := nats.Connect(url, opts...)
	if err != nil {
		t.Fatalf("connect to %s: %v", url, err)
	}
	t.Cleanup(func() {
		closed := nc.StatusChanged(nats.CLOSED)
		nc.Close()
		<-closed // its goroutines end
	})
	return nc
}
