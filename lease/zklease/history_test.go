package zklease_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/historytest"
	"github.com/solotick/solotick/internal/proxytest"
	"github.com/solotick/solotick/lease/zklease"
)

// asked is the environment variable that has a process of this binary contend, with these arguments.
const asked = "SOLOTICK_ZOOKEEPER_PROCESS"

// contend changes values until the process is killed: ADDRESS NAME SEED.
func contend(args []string) error {
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return err
	}
	s, err := zklease.Open("zk://"+args[0], "fleet", zklease.WithTimeout(2*time.Second))
	if err != nil {
		return err
	}
	return historytest.Contend(s.Values(), os.Stdout, args[1], seed)
}

func TestHistoriesOfProcessesAreLinearizable(t *testing.T) {
	t.Parallel()
	server := single.take(t)[0]
	proxy := proxytest.New(t, server.Addr())
	historytest.Run(t, func(name string, seed uint64) *exec.Cmd {
		c := exec.Command(os.Args[0], "-test.run=^$")
		c.Env = append(os.Environ(), asked+"="+strings.Join([]string{proxy.Addr(), name, strconv.FormatUint(seed, 10)}, " "))
		return c
	}, func() {
		proxy.Cut()
		proxy.Heal()
	}, func() {
		server.Freeze(t)
		time.Sleep(50 * time.Millisecond) // of a random history
		server.Thaw(t)
	})
}
