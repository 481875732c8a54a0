package pglease_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/solotick/solotick/internal/dbtest"
	"github.com/solotick/solotick/internal/historytest"
	"github.com/solotick/solotick/lease/driver"
	"github.com/solotick/solotick/lease/pglease"
)

// The environment that has a process of this binary change values: where, as whom, and with which
// seed; "" for somebody who changes one value as fast as possible.
const (
	where = "SOLOTICK_POSTGRES_DSN"
	as    = "SOLOTICK_POSTGRES_NAME"
	by    = "SOLOTICK_POSTGRES_SEED"
)

func TestMain(m *testing.M) {
	if dsn := os.Getenv(where); dsn != "" {
		if err := process(dsn); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	dbtest.StopAll()
	os.Exit(code)
}

func command(dsn, name, seed string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), where+"="+dsn, as+"="+name, by+"="+seed)
	return cmd
}

func process(dsn string) error {
	s, err := pglease.Open(dsn, "fleet", pglease.WithTimeout(2*time.Second))
	if err != nil {
		return err
	}
	if seed := os.Getenv(by); seed != "" {
		n, err := strconv.ParseUint(seed, 10, 64)
		if err != nil {
			return err
		}
		return historytest.Contend(s.Values(), os.Stdout, os.Getenv(as), n)
	}
	from := driver.Version{}
	for n := 0; ; n++ {
		op := driver.Op{Key: "busy", Change: &driver.Change{From: from, ID: fmt.Sprint(os.Getenv(as), "-", n), Data: []byte("x")}}
		res := s.Values().Do(context.Background(), []driver.Op{op})[0]
		if from = res.Version; res.Status == driver.Conflict {
			from = res.Value.Version
		}
		if n == 10 {
			fmt.Println("changes")
		}
	}
}
