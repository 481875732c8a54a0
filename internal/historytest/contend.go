package historytest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/solotick/solotick/lease/driver"
)

// event is a request of a process, with a time and no status, or the answer to one.
type event struct {
	Key, N  int
	At      int64          // Unix ns
	From    driver.Version // of a change
	ID      string         // of a change; "" of a read
	Status  driver.Status
	Version driver.Version
	Failed  bool
}

func (e event) asks() bool      { return e.Status == 0 && !e.Failed }
func (e event) conflicts() bool { return e.Status == driver.Conflict }

func (e event) write(out io.Writer) error {
	text, err := json.Marshal(e)
	if err == nil {
		_, err = fmt.Fprintln(out, string(text))
	}
	return err
}

// Contend changes values of a store that others change, too, until the process is killed or out
// cannot be written to. It writes requests and answers to out, which is the
// process's standard output.
func Contend(s driver.Store, out io.Writer, name string, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 0))
	var known [keys]driver.Version
	for n := 0; ; n++ {
		k := r.IntN(keys)
		op := driver.Op{Key: "k" + strconv.Itoa(k)}
		ask := event{Key: k, N: n, At: time.Now().UnixNano()}
		if r.IntN(4) > 0 {
			op.Change = &driver.Change{From: known[k], ID: name + "-" + strconv.Itoa(n), Data: []byte(name)}
			ask.From, ask.ID = known[k], op.Change.ID
		}
		if err := ask.write(out); err != nil {
			return err
		}
		res := s.Do(context.Background(), []driver.Op{op})[0]
		answer := event{Key: k, N: n, At: time.Now().UnixNano(), Status: res.Status, Version: res.Version, Failed: res.Err != nil}
		if res.Status != driver.Done || op.Change == nil {
			answer.Version = res.Value.Version
		}
		if res.Err != nil {
			fmt.Fprintln(os.Stderr, res.Err)
		} else {
			known[k] = answer.Version
		}
		if err := answer.write(out); err != nil {
			return err
		}
		if r.IntN(3) == 0 {
			time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
		}
	}
}
