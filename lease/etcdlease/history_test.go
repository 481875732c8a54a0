package etcdlease_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/solotick/solotick/internal/historytest"
	"github.com/solotick/solotick/lease/etcdlease"
)

// asked is what the test has a process of this binary do: the arguments of contend.
const asked = "SOLOTICK_ETCD_PROCESS"

// contend changes values until the process is killed: ENDPOINT PREFIX NAME SEED.
func contend(args []string) error {
	seed, err := strconv.ParseUint(args[3], 10, 64)
	if err != nil {
		return err
	}
	config := clientv3.Config{Endpoints: []string{args[0]}}
	s, err := etcdlease.New(config, "fleet", etcdlease.WithPrefix(args[1]), etcdlease.WithTimeout(2*time.Second))
	if err != nil {
		return err
	}
	return historytest.Contend(s.Values(), os.Stdout, args[2], seed)
}

func TestHistoriesOfProcessesAreLinearizable(t *testing.T) {
	t.Parallel()
	etcd, name := own(t), prefix()
	historytest.Run(t, func(client string, seed uint64) *exec.Cmd {
		c := exec.Command(os.Args[0], "-test.run=^$")
		c.Env = append(os.Environ(), asked+"="+strings.Join([]string{etcd.Addr(0), name, client, strconv.FormatUint(seed, 10)}, " "))
		return c
	}, func() {
		etcd.Kill()
		require.NoError(t, etcd.Run())
	}, func() {
		require.NoError(t, etcd.Freeze())
		time.Sleep(50 * time.Millisecond) // of a random history
		require.NoError(t, etcd.Thaw())
	})
}
