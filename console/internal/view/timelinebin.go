package view

import (
	"cmp"
	"slices"
	"time"
)

// mostLong is how many bars that are longer than a cell may begin in it.
const mostLong = 3

// bin orders items by where they begin, and makes one of those that begin in one cell. It joins
// short ones when there are several, and long ones when there are many. So a row has few items for
// each cell.
func bin(items []Item, from time.Time, cell time.Duration) []Item {
	slices.SortStableFunc(items, func(a, b Item) int { return a.From.Compare(b.From) })
	binned := []Item{}
	for i := 0; i < len(items); {
		n := i
		for in := cellOf(items[i], from, cell); n < len(items) && cellOf(items[n], from, cell) == in; n++ {
		}
		var short, long []Item
		for _, item := range items[i:n] {
			if item.To.Sub(item.From) > cell {
				long = append(long, item)
			} else {
				short = append(short, item)
			}
		}
		binned = append(binned, dense(long, mostLong)...)
		binned = append(binned, dense(short, 1)...)
		i = n
	}
	return binned
}

func cellOf(i Item, from time.Time, cell time.Duration) int64 {
	return int64(max(0, i.From.Sub(from)) / cell) // what begins before the page is in its first cell
}

// dense makes one item of more than most.
func dense(items []Item, most int) []Item {
	if len(items) <= most {
		return items
	}
	worst := slices.MinFunc(items, func(a, b Item) int { return cmp.Compare(a.severity(), b.severity()) })
	d := Item{
		Kind: ItemDense, From: items[0].From, To: items[0].To, Tick: worst.Tick, Outcome: worst.word(), Reason: worst.Reason,
		TakenOver: []time.Time{}, Counts: map[string]int{},
	}
	uncounted := false
	for _, i := range items {
		if i.To.After(d.To) {
			d.To = i.To
		}
		d.TakenOver = append(d.TakenOver, i.TakenOver...)
		d.Count += i.Count
		uncounted = uncounted || i.Count == 0
		d.Counts[i.word()] += i.Count
	}
	if uncounted {
		d.Count = 0
	}
	return []Item{d}
}

// word is the outcome of an item that was settled or runs, and the kind of another.
func (i Item) word() string {
	if i.Kind == ItemRun || i.Kind == ItemNone {
		return i.Outcome
	}
	return string(i.Kind)
}

// severities orders what an item shows, the worst first.
var severities = []string{"lost", "missed", "failed", "gap", "cancelled", "replaced", "skipped", "free", "retrying", "waiting", "running", "succeeded", "coming"}

func (i Item) severity() int {
	n := slices.Index(severities, i.word())
	if n < 0 { // an outcome of a later version
		return slices.Index(severities, "cancelled")
	}
	return n
}
