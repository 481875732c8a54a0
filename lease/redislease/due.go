package redislease

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/lease/driver"
)

// indexKey returns the key of Redis of the index of a share of a job, which has the hash tag of all
// keys in it. prefix is theirs. No key of a value looks so, since those have a colon behind the tag.
func indexKey(prefix, job string, share int) string {
	return prefix[:len(prefix)-1] + "due:" + job + "/" + strconv.Itoa(share)
}

// Due implements [driver.Index]. It is one command, and on Cluster one for each tag.
func (v *values) Due(ctx context.Context, job string, shares []int, until time.Time, count int) ([]driver.DueKey, error) {
	err := v.check(ctx)
	if err != nil || count < 1 {
		return nil, err
	}
	var keys [tags][]string
	for _, share := range shares {
		of, tag := 0, share%tags
		if v.store.router.cluster != nil {
			of = tag
		}
		keys[of] = append(keys[of], indexKey(v.prefix[tag], job, share))
	}
	var cmds []*redis.Cmd
	for _, of := range keys {
		if len(of) > 0 {
			cmds = append(cmds, dueScript.command(ctx, of, until.UnixMilli(), count))
		}
	}
	var list []driver.DueKey
	if cmds, err = v.store.router.all(ctx, cmds); err == nil {
		list, err = readDue(cmds, job)
	}
	if err != nil {
		return nil, fmt.Errorf("due: %w", err)
	}
	return list, nil
}

// readDue reads what lua/due.lua returns.
func readDue(cmds []*redis.Cmd, job string) (list []driver.DueKey, err error) {
	for _, cmd := range cmds {
		shares, err := cmd.Slice()
		if err != nil {
			return nil, err
		}
		for _, share := range shares {
			due, _ := share.([]any)
			for i := 0; i+1 < len(due); i += 2 {
				ms, err := strconv.ParseInt(text(due[i+1]), 10, 64)
				if err != nil {
					return nil, fmt.Errorf("%w: due %v", errReply, due[i+1])
				}
				list = append(list, driver.DueKey{Key: job + "/" + text(due[i]), At: time.UnixMilli(ms).UTC()})
			}
		}
	}
	slices.SortFunc(list, driver.DueKey.Compare)
	return list, nil
}
