package schedule

import (
	"hash/fnv"
	"strconv"
	"strings"
)

// hashed rewrites what follows an H: nothing, or a range in brackets. H alone is one value of the
// range; with a step it is where in the first step the values begin.
func (r *fieldReader) hashed(bracket string, hasStep bool, step int) (rewritten, rule string) {
	low, high := r.min, r.hashMax
	if bracket != "" {
		inner, opened := strings.CutPrefix(bracket, "(")
		inner, closed := strings.CutSuffix(inner, ")")
		lowText, highText, isRange := strings.Cut(inner, "-")
		var lowOK, highOK bool
		low, lowOK = r.value(lowText)
		high, highOK = r.value(highText)
		// Sunday is 0 here: a range to 7 would give it twice the share of every other day.
		if !opened || !closed || !isRange || !lowOK || !highOK || low > high || high > r.max {
			return "", "must be H, H/STEP, H(LOW-HIGH) or H(LOW-HIGH)/STEP, with LOW and HIGH in order and from " +
				strconv.Itoa(r.min) + " to " + strconv.Itoa(r.max)
		}
	}
	size := high - low + 1
	if !hasStep {
		return strconv.Itoa(low + spread(r.name, r.field.name, size)), ""
	}
	if step > size {
		return "", "the step after / must be at most the " + strconv.Itoa(size) + " values of the range"
	}
	start := low + spread(r.name, r.field.name, step)
	return withStep(strconv.Itoa(start)+"-"+strconv.Itoa(high), step), ""
}

// spread returns a number from 0 to n-1 that depends on nothing but its arguments. It decides when
// jobs run, so what it returns must never change: not between replicas, releases or platforms.
func spread(job, field string, n int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(job + "\x00" + field))
	// FNV's low bits alone are poor for names that differ in the last letter; this mixes the high
	// ones in.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return int(x % uint64(n))
}
