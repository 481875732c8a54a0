package pglease

import (
	"context"
	"database/sql"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/sqlstore"
	"github.com/solotick/solotick/lease/driver"
)

// operation is a driver.Op, as the function solotick_do reads it. Times are in µs.
type operation struct {
	Key    string   `json:"key"`
	Change *change  `json:"change,omitempty"`
	Renew  *renewal `json:"renew,omitempty"`
	Append []entry  `json:"append,omitempty"`
	Newest int      `json:"newest,omitempty"`
}

type change struct {
	Stamp     int64             `json:"stamp"`
	From      string            `json:"from"`
	ID        string            `json:"id"`
	NotBefore int64             `json:"not_before,omitempty"`
	NotAfter  int64             `json:"not_after,omitempty"`
	Ended     []int64           `json:"ended,omitempty"`
	Data      int               `json:"data,omitempty"` // which blob; 0: the value is removed
	MinStamp  int64             `json:"min_stamp,omitempty"`
	Leases    []granted         `json:"leases,omitempty"`
	Stop      []int64           `json:"stop,omitempty"`
	Drop      []int64           `json:"drop,omitempty"`
	Append    []entry           `json:"append,omitempty"`
	Notify    []sqlstore.Notice `json:"notify,omitempty"`
	Keep      int64             `json:"keep,omitempty"`
}

type granted struct {
	Token  int64  `json:"token"`
	Holder string `json:"holder"`
	TTL    int64  `json:"ttl"`
}

type renewal struct {
	Lease struct {
		Token  int64  `json:"token"`
		Holder string `json:"holder"`
	} `json:"lease"`
	TTL int64 `json:"ttl"`
}

type entry struct {
	ID   string `json:"id"`
	Text int    `json:"text"` // which blob
	Most int    `json:"most"`
}

// request is a call of the function.
type request struct {
	keys  []string
	ops   []operation
	blobs [][]byte
}

func (r *request) blob(b []byte) int {
	r.blobs = append(r.blobs, append([]byte{}, b...))
	return len(r.blobs)
}

func (r *request) add(op driver.Op) {
	r.keys = append(r.keys, op.Key)
	o := operation{Key: op.Key}
	switch {
	case op.Change != nil:
		o.Change = r.change(op.Change)
	case op.Renew != nil:
		o.Renew = &renewal{TTL: micros(op.Renew.TTL)}
		o.Renew.Lease.Token, o.Renew.Lease.Holder = op.Renew.Token, op.Renew.Holder
	case len(op.Append) > 0:
		o.Append = r.entries(op.Append)
	default:
		o.Newest = op.Newest
	}
	r.ops = append(r.ops, o)
}

func (r *request) change(c *driver.Change) *change {
	made := &change{
		Stamp: c.From.Stamp, From: c.From.ID, ID: c.ID, Ended: c.Ended, MinStamp: c.MinStamp, Stop: c.Stop, Drop: c.Drop,
		Append: r.entries(c.Append), Keep: micros(c.Keep),
	}
	for _, n := range c.Notify {
		made.Notify = append(made.Notify, sqlstore.NewNotice(n))
	}
	if !c.NotBefore.IsZero() {
		made.NotBefore = sqlstore.Ceil(c.NotBefore)
	}
	if !c.NotAfter.IsZero() {
		made.NotAfter = c.NotAfter.UnixMicro()
	}
	if c.Data != nil {
		made.Data = r.blob(c.Data)
	}
	for _, l := range c.Leases {
		made.Leases = append(made.Leases, granted{l.Token, l.Holder, micros(l.TTL)})
	}
	return made
}

func (r *request) entries(list []driver.Entry) (entries []entry) {
	for _, e := range list {
		entries = append(entries, entry{e.ID, r.blob(e.Text), max(e.Max, 1)})
	}
	return entries
}

// micros returns d in µs, rounded up.
func micros(d time.Duration) int64 { return int64((d + time.Microsecond - 1) / time.Microsecond) }

// do carries out operations by the function solotick_do.
func do(ctx context.Context, db *sql.DB, namespace string, ops []driver.Op) ([]driver.Result, error) {
	// Rows are made, too, in the order of their keys, so that batches do not wait for each other.
	order := make([]int, len(ops))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(ops[a].Key, ops[b].Key) })
	r := request{blobs: [][]byte{}}
	for _, i := range order {
		r.add(ops[i])
	}
	text, err := json.Marshal(r.ops)
	if err != nil {
		return nil, err
	}
	patience := time.Minute
	if deadline, ok := ctx.Deadline(); ok {
		patience = time.Until(deadline) * 3 / 4
	}
	rows, err := db.QueryContext(ctx, "SELECT * FROM "+function.name+"($1, $2, $3, $4, $5)",
		namespace, slices.Compact(r.keys), string(text), r.blobs, max(1, patience.Milliseconds()))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	results := make([]driver.Result, len(ops))
	n := 0
	for ; rows.Next(); n++ {
		var a answer
		if err := rows.Scan(&a.status, &a.version.Stamp, &a.version.ID, &a.data, &a.leases, &a.now, &a.list); err != nil {
			return nil, err
		}
		if n < len(ops) {
			results[order[n]] = a.result(ops[order[n]])
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if n != len(ops) {
		return nil, fmt.Errorf("%s answered %d of %d operations", function.name, n, len(ops))
	}
	return results, nil
}

// answer is a row of what the function returns.
type answer struct {
	status       int
	version      driver.Version
	data         []byte
	leases, list []byte // JSON
	now          int64
}

func (a *answer) result(op driver.Op) driver.Result {
	res := driver.Result{Status: driver.Status(a.status), Version: a.version, Now: time.UnixMicro(a.now).UTC()}
	if res.Status == 0 {
		return sqlstore.Unreadable(op.Key, fmt.Errorf("it is no array"))
	}
	if op.Newest > 0 && !sqlstore.Writes(op) {
		return a.newest(op, res)
	}
	if a.leases != nil {
		leases, err := sqlstore.Leases(a.leases)
		if err != nil {
			return sqlstore.Unreadable(op.Key, err)
		}
		res.Value = driver.Value{Version: a.version, Leases: leases}
		if a.version.Stamp != 0 {
			res.Value.Data = append([]byte{}, a.data...)
		}
	}
	return res
}

func (a *answer) newest(op driver.Op, res driver.Result) driver.Result {
	var list []struct {
		ID, Text string
		At       int64
	}
	if a.list != nil {
		if err := json.Unmarshal(a.list, &list); err != nil {
			return sqlstore.Unreadable(op.Key, err)
		}
	}
	res.Version = driver.Version{}
	for _, e := range list {
		text, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(e.Text, "\n", ""))
		if err != nil {
			return sqlstore.Unreadable(op.Key, err)
		}
		res.List = append(res.List, driver.Entry{ID: e.ID, Text: text, At: time.UnixMicro(e.At).UTC()})
	}
	return res
}
