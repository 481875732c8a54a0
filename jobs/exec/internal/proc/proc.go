// Package proc finds processes by their parents and by their tags, and kills those of a run that is
// over.
package proc

import "time"

// StartGrain is the unit in which the system reports when a process was started.
const StartGrain = 10 * time.Millisecond
