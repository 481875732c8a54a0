package mysqllease_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/solotick/solotick/internal/historytest"
	"github.com/solotick/solotick/lease/mysqllease"
)

// asked is what the test has a process of this binary do: "URL NAME SEED", to contend.
const asked = "SOLOTICK_MYSQL_PROCESS"

// contend changes values of a database that others change, too, until it is killed.
func contend(args []string) error {
	seed, err := strconv.ParseUint(args[2], 10, 64)
	if err != nil {
		return err
	}
	s, err := mysqllease.Open(args[0], "fleet", mysqllease.WithTimeout(2*time.Second))
	if err != nil {
		return err
	}
	return historytest.Contend(s.Values(), os.Stdout, args[1], seed)
}

func TestHistoriesOfProcessesAreLinearizable(t *testing.T) {
	t.Parallel()
	server := own(t)
	url := databaseOn(t, server)
	proxy, cut := through(t, url)
	open(t, url).Values().Do(t.Context(), nil)
	historytest.Run(t, func(name string, seed uint64) *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env = append(os.Environ(), asked+"="+strings.Join([]string{cut, name, fmt.Sprint(seed)}, " "))
		return cmd
	}, func() {
		require.NoError(t, server.Freeze())
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
		require.NoError(t, server.Thaw())
	}, func() {
		proxy.Cut()
		proxy.Heal()
	}, func() {
		require.NoError(t, server.Restart())
	})
}
