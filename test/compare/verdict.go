package main

import (
	"fmt"
	"time"
)

const period = 2 * time.Second // of the replicas' schedule

// verdict counts what went wrong with the ticks of a fleet while it was observed.
type verdict struct {
	ticks      int
	duplicates int // writes of a tick beyond its first
	misses     int // ticks without a write
	stale      int // writes of a tick after one of a newer tick
}

// judge judges the ticks from one time to another, without the ends.
func judge(writes []int64, from, to time.Time) (v verdict) {
	number := map[int64]int{}
	var newest int64
	for _, tick := range writes {
		number[tick]++
		judged := tick > from.Unix() && tick < to.Unix()
		if judged && number[tick] > 1 {
			v.duplicates++
		}
		if judged && tick < newest {
			v.stale++
		}
		newest = max(newest, tick)
	}
	for tick := from.Truncate(period).Add(period); tick.Before(to); tick = tick.Add(period) {
		v.ticks++
		if number[tick.Unix()] == 0 {
			v.misses++
		}
	}
	return v
}

func (v verdict) String() string { return fmt.Sprintf("%d / %d / %d", v.duplicates, v.misses, v.stale) }
