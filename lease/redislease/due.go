package redislease

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/solotick/solotick/lease/driver"
)

// indexKey returns the key of Redis of the index of a share of a job, which has the hash tag of all
// keys in it. prefix is theirs. No key of a value looks so, since those have a colon behind the tag.
func indexKey(prefix, job string, share int) string {
	return prefix[:len(prefix)-1] + "due:" + job + "/" + strconv.Itoa(share)
}

// namesKey is that of the KEYs of a job that have the same tag: see lua/values.lua. There are fewer of
// these than of shares, since a page is made of all of them.
func namesKey(prefix, job string) string { return prefix[:len(prefix)-1] + "keys:" + job }

// Due implements [driver.Index].
func (v *values) Due(ctx context.Context, job string, shares []int, until time.Time, count int) ([]driver.DueKey, error) {
	if count < 1 {
		return nil, context.Cause(ctx)
	}
	var keys [tags][]string
	for _, share := range shares {
		tag := share % tags
		keys[tag] = append(keys[tag], indexKey(v.prefix[tag], job, share))
	}
	lists, err := v.each(ctx, dueScript, keys, until.UnixMilli(), count)
	var all []driver.DueKey
	for _, due := range lists {
		for i := 0; i+1 < len(due); i += 2 {
			ms, fault := strconv.ParseInt(text(due[i+1]), 10, 64)
			if fault != nil {
				err = fmt.Errorf("%w: due %v", errReply, due[i+1])
			}
			all = append(all, driver.DueKey{Key: job + "/" + text(due[i]), At: time.UnixMilli(ms).UTC()})
		}
	}
	if err != nil {
		return nil, fmt.Errorf("due: %w", err)
	}
	slices.SortFunc(all, driver.DueKey.Compare)
	return all, nil
}

// scanJob lists keys of a job in order. If a tag may have more texts than were read, nothing is known of
// what comes after the last of their names.
func (v *values) scanJob(ctx context.Context, job, prefix, cursor string, count int) (keys []string, next string, err error) {
	var sets [tags][]string
	for tag := range sets {
		sets[tag] = []string{namesKey(v.prefix[tag], job)}
	}
	after, end, texts := strings.TrimPrefix(cursor, job+"/"), prefix+"~", 1+count/128
	lists, err := v.each(ctx, namesScript, sets, max(after, prefix), end, texts)
	if err != nil {
		return nil, "", fmt.Errorf("scan: %w", err)
	}
	known := end
	for i, list := range lists {
		last := ""
		for _, element := range list {
			for name := range strings.Lines(text(element)[strings.IndexByte(text(element), '\n')+1:]) {
				name = strings.TrimSuffix(name, "\n")
				if last = max(last, name); name > after && strings.HasPrefix(name, prefix) {
					keys = append(keys, job+"/"+name)
				}
			}
		}
		if i%2 == 1 && len(list) == texts {
			known = min(known, last)
		}
	}
	slices.Sort(keys)
	if i, found := slices.BinarySearch(keys, job+"/"+known); found {
		keys = keys[:i+1]
	} else {
		keys = keys[:i]
	}
	if len(keys) > count {
		return keys[:count], keys[count-1], nil
	}
	if known < end {
		next = job + "/" + known
	}
	return keys, next, nil
}

// each reads keys of each tag by a script: on Cluster once for each tag.
func (v *values) each(ctx context.Context, script *script, keys [tags][]string, args ...any) (lists [][]any, err error) {
	if err := v.check(ctx); err != nil {
		return nil, err
	}
	sets := keys[:]
	if v.store.router.cluster == nil {
		sets = [][]string{slices.Concat(sets...)}
	}
	var cmds []*redis.Cmd
	for _, set := range sets {
		if len(set) > 0 {
			cmds = append(cmds, script.command(ctx, set, args...))
		}
	}
	cmds, err = v.store.router.all(ctx, cmds)
	for _, cmd := range cmds {
		answers, fault := cmd.Slice()
		err = cmp.Or(err, fault)
		for _, answer := range answers {
			list, _ := answer.([]any)
			lists = append(lists, list)
		}
	}
	return lists, err
}
