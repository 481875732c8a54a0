package pglease

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/sqlstore"
	"github.com/solotick/solotick/lease/driver"
)

// operation is a driver.Op as the function solotick_do reads it: in JSON, with what counts in µs.
type operation struct {
	driver.Op
	NotBefore int64             `json:",omitempty"` // of the change
	NotAfter  int64             `json:",omitempty"`
	Notices   []sqlstore.Notice `json:",omitempty"`
	Index     *place            `json:",omitempty"`
}

// place is one in the index; due is in ms, and 0 if the change takes its key out.
type place struct {
	Job   string
	Share int
	Due   int64
}

func operationOf(op driver.Op) operation {
	o := operation{Op: op}
	if len(op.Append) == 0 {
		o.Append = nil
	}
	if op.Change == nil {
		return o
	}
	c := *op.Change
	if !c.NotBefore.IsZero() {
		o.NotBefore = sqlstore.Ceil(c.NotBefore)
	}
	if !c.NotAfter.IsZero() {
		o.NotAfter = c.NotAfter.UnixMicro()
	}
	for _, n := range c.Notify {
		o.Notices = append(o.Notices, sqlstore.NewNotice(n))
	}
	if job, _, ok := driver.CutKey(op.Key); ok {
		o.Index = &place{job, driver.ShareOf(op.Key), c.DueMilli()}
	}
	c.NotBefore, c.NotAfter, c.Notify, c.Due = time.Time{}, time.Time{}, nil, time.Time{}
	o.Change = &c
	return o
}

// do carries out operations by the function solotick_do.
func do(ctx context.Context, q sqlstore.Querier, namespace string, ops []driver.Op) ([]driver.Result, error) {
	// Rows are made, too, in the order of their keys, so that batches do not wait for each other.
	order := make([]int, len(ops))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(ops[a].Key, ops[b].Key) })
	keys, list := make([]string, len(ops)), make([]operation, len(ops))
	for i, from := range order {
		keys[i], list[i] = ops[from].Key, operationOf(ops[from])
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	patience := time.Minute.Milliseconds()
	if deadline, ok := ctx.Deadline(); ok {
		patience = max(1, (time.Until(deadline) * 3 / 4).Milliseconds())
	}
	if _, ofCaller := q.(*sql.Tx); ofCaller {
		patience = 0
	}
	rows, err := q.QueryContext(ctx, "SELECT * FROM "+function.name+"($1, $2, $3, $4)", namespace, slices.Compact(keys), string(text), patience)
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
		ID   string
		Text []byte
		At   int64
	}
	if a.list != nil {
		if err := json.Unmarshal(a.list, &list); err != nil {
			return sqlstore.Unreadable(op.Key, err)
		}
	}
	res.Version = driver.Version{}
	for _, e := range list {
		res.List = append(res.List, driver.Entry{ID: e.ID, Text: e.Text, At: time.UnixMicro(e.At).UTC()})
	}
	return res
}
