package schedule

import (
	"math/bits"
	"time"
)

const secondsPerDay = 24 * 60 * 60

// calendar says which readings of a wall clock match a cron expression. It knows nothing of time
// zones. A reading is the number of seconds since 1970 that a clock showing that date and time
// would count in UTC.
//
// The fields are sets of bits, numbered as the values are.
type calendar struct {
	second, minute, hour, dom, month, dow uint64

	special specialDays
}

// daysIn returns the matching days of a month as bits 1 to 31.
func (c *calendar) daysIn(first monthStart) uint32 {
	inMonth := uint32(1)<<(first.days+1) - 2
	onDom := uint32(c.dom)
	onDow := everyWeek(uint8(c.dow), first.weekday)
	if c.special != (specialDays{}) {
		dom, dow := c.special.daysIn(first)
		onDom |= dom
		onDow |= dow
	}
	if (c.dom|c.dow)&starBit != 0 {
		return onDom & onDow & inMonth
	}
	return (onDom | onDow) & inMonth
}

// everyWeek spreads a set of weekdays over the days 1 to 35 of a month that begins on the given
// one.
func everyWeek(weekdays uint8, first int) uint32 {
	weekdays &= 0x7f
	week := uint64(weekdays>>first|weekdays<<(7-first)) & 0x7f
	return uint32((week | week<<7 | week<<14 | week<<21 | week<<28) << 1)
}

// monthStart says where the days of a month lie.
type monthStart struct {
	day     int64 // since 1970
	weekday int   // of the first day, Sunday being 0
	days    int   // how many
}

func startOfMonth(year int, month time.Month) monthStart {
	day := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay
	next := time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC).Unix() / secondsPerDay
	return monthStart{day: day, weekday: int(floorMod(day+int64(time.Thursday), 7)), days: int(next - day)}
}

// everFires reports whether any day matches. The calendar repeats itself every 400 years.
func (c *calendar) everFires() bool {
	_, ok := c.next(0)
	return ok
}

// next returns the first matching reading that is not before the given one. It returns false when
// none comes within 400 years or before the end of the year 9999.
func (c *calendar) next(reading int64) (int64, bool) {
	year, month, day := time.Unix(reading, 0).UTC().Date()
	lastYear := min(year+400, 9999)
	if c.month>>month&1 != 0 {
		first := startOfMonth(year, month)
		days := c.daysIn(first)
		if days>>day&1 != 0 {
			if second, ok := c.timeOfDay(int(floorMod(reading, secondsPerDay))); ok {
				return (first.day+int64(day-1))*secondsPerDay + int64(second), true
			}
		}
		if later := days >> (day + 1) << (day + 1); later != 0 {
			return c.startOf(first, later), true
		}
	}
	for {
		if month++; month > time.December {
			year, month = year+1, time.January
			if year > lastYear {
				return 0, false
			}
		}
		if c.month>>month&1 == 0 {
			continue
		}
		first := startOfMonth(year, month)
		if days := c.daysIn(first); days != 0 {
			return c.startOf(first, days), true
		}
	}
}

// startOf returns the first matching reading on the first of a set of days.
func (c *calendar) startOf(first monthStart, days uint32) int64 {
	second, _ := c.timeOfDay(0)
	return (first.day+int64(bits.TrailingZeros32(days)-1))*secondsPerDay + int64(second)
}

// timeOfDay returns the first matching second of the day that is not before the given one.
func (c *calendar) timeOfDay(from int) (int, bool) {
	hour, minute, second := from/3600, from/60%60, from%60
	if c.hour>>hour&1 != 0 {
		if c.minute>>minute&1 != 0 {
			if s, ok := nextBit(c.second, second); ok {
				return hour*3600 + minute*60 + s, true
			}
		}
		if m, ok := nextBit(c.minute, minute+1); ok {
			return hour*3600 + m*60 + firstBit(c.second), true
		}
	}
	if h, ok := nextBit(c.hour, hour+1); ok {
		return h*3600 + firstBit(c.minute)*60 + firstBit(c.second), true
	}
	return 0, false
}

func nextBit(set uint64, from int) (int, bool) {
	rest := set &^ starBit >> from
	return from + bits.TrailingZeros64(rest), rest != 0
}

func firstBit(set uint64) int { return bits.TrailingZeros64(set) }

func floorMod(a, n int64) int64 {
	if m := a % n; m < 0 {
		return m + n
	}
	return a % n
}
