package job

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOverdueFollowsTheTableOfItsComment(t *testing.T) {
	const grace = 10_000
	at := func(now int64, change func(*awaited)) awaited {
		a := awaited{now: now, grace: grace, due: 60_000}
		if change != nil {
			change(&a)
		}
		return a
	}
	paused := func(a *awaited) { a.paused = true }
	free := func(since ...int64) func(*awaited) { return func(a *awaited) { a.free = since } }
	for name, test := range map[string]struct {
		awaited awaited
		want    int64
	}{
		"before its time":                        {at(59_999, nil), 0},
		"at its time":                            {at(60_000, nil), 0},
		"at the end of its grace":                {at(70_000, nil), 0},
		"a moment after that":                    {at(70_001, nil), 1},
		"an hour after that":                     {at(3_670_000, nil), 3_600_000},
		"the schedule has no other tick":         {at(3_670_000, func(a *awaited) { a.due = 0 }), 0},
		"paused":                                 {at(3_670_000, paused), 0},
		"of an older schedule":                   {at(71_000, func(a *awaited) { a.edited = 65_000 }), 0},
		"of an older schedule, for too long":     {at(76_000, func(a *awaited) { a.edited = 65_000 }), 1000},
		"while an earlier one runs":              {at(200_000, func(a *awaited) { a.blocked = 201_000 }), 0},
		"a moment after the earlier one":         {at(200_000, func(a *awaited) { a.blocked = 195_000 }), 0},
		"long after the earlier one":             {at(200_000, func(a *awaited) { a.blocked = 120_000 }), 70_000},
		"another holds an earlier one":           {at(50_000, free()), 0},
		"that lease has run out":                 {at(50_000, free(45_000)), 0},
		"that lease has run out long ago":        {at(50_000, free(30_000)), 10_000},
		"of several the oldest counts":           {at(71_000, free(45_000, 30_000, 40_000)), 31_000},
		"paused, and an open one was left":       {at(50_000, func(a *awaited) { paused(a); free(30_000)(a) }), 10_000},
		"no other tick, and an open one is free": {at(50_000, func(a *awaited) { a.due = 0; free(30_000)(a) }), 10_000},
	} {
		require.Equal(t, test.want, overdue(test.awaited), name)
	}
}
