package quorum

import (
	"fmt"
	"math/rand/v2"
	"strconv"
)

// counterDigits is how many hexadecimal digits of a ballot are its counter. The rest is drawn anew for each attempt, so
// that no two attempts have the same ballot. Ballots compare as strings.
const counterDigits = 12

// ballotAbove makes a ballot that is higher than those whose counter is at most counter.
func ballotAbove(counter uint64) string {
	return fmt.Sprintf("%0*x%016x", counterDigits, counter+1, rand.Uint64())
}

// counterOf returns the counter of a ballot; 0 of the empty one, and of what is none.
func counterOf(ballot string) uint64 {
	if len(ballot) < counterDigits {
		return 0
	}
	n, err := strconv.ParseUint(ballot[:counterDigits], 16, 64)
	if err != nil {
		return 0
	}
	return n
}
