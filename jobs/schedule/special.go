package schedule

import (
	"math/bits"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// specialDays are the days that depend on the month, each a set of bits.
type specialDays struct {
	last        bool
	lastWorkday bool
	nearest     uint32   // days of the month, each moved to the nearest workday in it
	nth         [5]uint8 // weekdays: the first, second… of their kind
	lastOf      uint8    // weekdays: the last of their kind
}

func (s *specialDays) daysIn(first monthStart) (onDom, onDow uint32) {
	if s.last {
		onDom |= 1 << first.days
	}
	if s.lastWorkday {
		onDom |= 1 << first.workdayNear(first.days)
	}
	for rest := s.nearest; rest != 0; rest &= rest - 1 {
		// A month without the day does not have the workday next to it either.
		if day := bits.TrailingZeros32(rest); day <= first.days {
			onDom |= 1 << first.workdayNear(day)
		}
	}
	const firstWeek = 0xfe // days 1 to 7
	for week, weekdays := range s.nth {
		onDow |= everyWeek(weekdays, first.weekday) & (firstWeek << (7 * week))
	}
	onDow |= everyWeek(s.lastOf, first.weekday) & (firstWeek << (first.days - 7))
	return onDom, onDow
}

// workdayNear returns the day from Monday to Friday nearest to the given one, in the same month.
func (m monthStart) workdayNear(day int) int {
	switch time.Weekday((m.weekday + day - 1) % 7) {
	case time.Saturday:
		if day == 1 {
			return 3
		}
		return day - 1
	case time.Sunday:
		if day == m.days {
			return day - 2
		}
		return day + 1
	default:
		return day
	}
}

// special reads what depends on the month: L, LW and 15W in day of month, 5L and 5#3 in day of
// week.
func (r *fieldReader) special(base string) (special bool, rule string) {
	switch r.place {
	case cron.Dom:
		switch day, isNearest := strings.CutSuffix(base, "W"); {
		case base == "L":
			r.days.last = true
		case base == "LW":
			r.days.lastWorkday = true
		case isNearest:
			n, ok := number(day)
			if !ok || n < 1 || n > 31 {
				return true, "before W must be a day from 1 to 31, or L"
			}
			r.days.nearest |= 1 << n
		case strings.HasPrefix(base, "L-"):
			return true, "days before the last one are not supported; L, LW and a number are"
		default:
			return false, ""
		}
		return true, ""
	case cron.Dow:
		const dayRule = "must be a day from 0 to 7 or SUN to SAT"
		if day, nth, ok := strings.Cut(base, "#"); ok {
			weekday, known := r.value(day)
			n, isNumber := number(nth)
			switch {
			case !known:
				return true, "before # " + dayRule
			case !isNumber || n < 1 || n > 5:
				return true, "after # must be a number from 1 to 5"
			}
			r.days.nth[n-1] |= 1 << (weekday % 7)
			return true, ""
		}
		if day, ok := strings.CutSuffix(base, "L"); ok {
			weekday, known := r.value(day)
			if !known {
				return true, "before L " + dayRule + ", as in FRIL, the month's last Friday"
			}
			r.days.lastOf |= 1 << (weekday % 7)
			return true, ""
		}
		return false, ""
	default:
		if base == "L" || base == "W" {
			return true, "L and W belong in the day of month field"
		}
		return false, ""
	}
}
